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
