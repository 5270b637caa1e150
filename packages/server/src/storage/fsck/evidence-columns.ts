// The columns that are evidence, and the reasons why others are not, from tables.ts.

import type { Backend } from '../table.ts';
import { columnsOf, tablesOf } from '../tables.ts';

/** Parts of evidence columns that are not evidence themselves, with the reason. */
const PARTS_NOT: Readonly<Record<string, string>> = {
  'meta.value (all but log_origin)': 'facts about the installation that no log speaks of',
  'entries.classification (content purged)': 'the classification of content that is gone',
  'contents.seeds (of an empty group)': 'salts of units that are not there',
  'streams.stream_id (first of a log, not sealed)': 'no notice names it before one seals it',
  'checkpoints.note (cosignatures)': 'verified with the keys of the witnesses',
};

/** By table: the evidence columns, and the data that they are compared with. */
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

/** By table, or by `<table>.<column>`: why it is not evidence. */
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

/** Of the columns of a schema, by `<table>.<column>`: those that are not evidence, and why. */
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

/** SQLite has the number of the tenant instead. */
function nameIn(table: string, column: string, backend: Backend): string {
  return backend === 'SQLite' && column === 'tenant_id' && table !== 'tenants' ? 'tenant' : column;
}
