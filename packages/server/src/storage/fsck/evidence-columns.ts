// What of the tables of a store is evidence, column by column, and why the rest is not, as tables.ts says it.

import { type Backend, columnsOf, tablesOf } from '../tables.ts';

/** Parts of columns that are evidence otherwise, and why these are none. */
const PARTS_NOT: Readonly<Record<string, string>> = {
  'meta.value (all but log_origin)': 'facts about the installation that no log speaks of',
  'entries.classification (content purged)': 'who might see what is gone for everybody',
  'contents.seeds (of an empty group)': 'salts of units that are not there',
  'streams.stream_id (first of a log, not sealed)': 'no notice names it before one seals it',
  'checkpoints.note (cosignatures)': 'for whoever holds the keys of the witnesses',
};

/** By table, the columns that are evidence and what they are held against. */
export type EvidenceColumns = Readonly<Record<string, Readonly<Record<string, string>>>>;

export function evidenceColumns(backend: Backend): EvidenceColumns {
  const found: Record<string, Record<string, string>> = {};
  for (const [table, facts] of tablesOf(backend)) {
    for (const [column, { evidence }] of columnsOf(facts, backend)) {
      if (evidence !== undefined) (found[table] ??= {})[nameIn(table, column, backend)] = evidence;
    }
  }
  return found;
}

/** By table, or by `<table>.<column>` of one that is evidence otherwise, why it is none. */
export type NotEvidence = Readonly<Record<string, string>>;

export function notEvidence(backend: Backend, parts: NotEvidence = {}): NotEvidence {
  const found: Record<string, string> = { ...PARTS_NOT, ...parts };
  for (const [table, facts] of tablesOf(backend)) {
    if (facts.not !== undefined) found[table] = facts.not;
    for (const [column, { not }] of columnsOf(facts, backend))
      if (not !== undefined) found[`${table}.${column}`] = not;
  }
  return found;
}

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
  for (const [name, why] of Object.entries(not)) if (name.includes(' ')) found[name] = why;
  return found;
}

/** SQLite has the number of the tenant in its place. */
function nameIn(table: string, column: string, backend: Backend): string {
  return backend === 'SQLite' && column === 'tenant_id' && table !== 'tenants' ? 'tenant' : column;
}
