// What of the tables of a store is evidence, column by column, and why the rest is not: each backend has its list. Evidence
// is whatever the verifier of a store recomputes from the entries, or holds against what was signed: a change of it is found.
// All other tables and columns are named in its report, so that nobody takes "verified" for more than it says.

/** By table, the columns that are evidence and what they are held against. */
export type EvidenceColumns = Readonly<Record<string, Readonly<Record<string, string>>>>;

/** By table, or by `<table>.<column>` of one that is evidence otherwise, why it is none. */
export type NotEvidence = Readonly<Record<string, string>>;

/** Of the columns of a schema, by `<table>.<column>`: those that are no evidence, and why. */
export function notEvidenceAmong(
  columns: readonly string[],
  evidence: EvidenceColumns,
  not: NotEvidence,
): Record<string, string> {
  const found: Record<string, string> = {};
  for (const name of columns) {
    const [table, column] = name.split('.') as [string, string];
    if (evidence[table] === undefined) found[table] = not[table] ?? 'is not looked at';
    else if (evidence[table][column] === undefined) found[name] = not[name] ?? 'is not looked at';
  }
  // Parts of columns, with what parts behind the name.
  for (const [name, why] of Object.entries(not)) if (name.includes(' ')) found[name] = why;
  return found;
}

/** What no backend has as evidence, and why. Columns have the same names in all of them. */
export const NEVER_EVIDENCE: NotEvidence = {
  'meta.name': 'the names of settings; without `log_origin` nothing can be verified',
  'meta.value (all but log_origin)': 'facts about the installation that no log speaks of',
  'tenants.fingerprint_key': 'recognises repeated requests',
  'tenants.created_at_ms': 'no log speaks of it',
  'entries.classification (content purged)': 'who might see what is gone for everybody',
  'contents.seeds (of an empty group)': 'salts of units that are not there',
  'contents.sent_fingerprint': 'recognises repeated requests',
  'contents.expires_at_ms': 'when the content may be purged, which never happens without a notice',
  'streams.stream_id (first of a log, not sealed)': 'no notice names it before one seals it',
  'checkpoints.published_at_ms': 'when it was stored; a checkpoint says nothing of time',
  'checkpoints.note (cosignatures)': 'for whoever holds the keys of the witnesses',
  api_keys: 'keys from before there were records; none of them counts',
  'records.mac': 'for the service, which has the key; the notices say more',
  api_key_uses: 'when keys were last used, which grants nothing',
  used_keys: 'recognises repeated requests, for a day',
};
