// The notices that tell of holds and policies, which say together what is held. An index finds them, so the newest one costs a
// lookup however long the log is.

import { type Kind, KIND_AT, KINDS } from '@tallystick/evidence';
import type { Backend } from '../table.ts';

/** Those of these kinds. */
const HOLDING: readonly Kind[] = [KINDS.legalHold, KINDS.policyChange];

export function tellsOfHolds(kind: Kind): boolean {
  return HOLDING.includes(kind);
}

const PLACE = KIND_AT + 1;
const hexOf = (kind: Kind) => kind.toString(16).padStart(2, '0');

/** The condition on an entry, as the index of each backend has it. */
export const IS_HOLD_NOTICE: Readonly<Record<Backend, string>> = {
  SQLite: `substr(entry, ${PLACE}, 1) IN (${HOLDING.map((kind) => `x'${hexOf(kind)}'`).join(', ')})`,
  PostgreSQL: `substring(entry from ${PLACE} for 1) IN (${HOLDING.map((kind) => `'\\x${hexOf(kind)}'::bytea`).join(', ')})`,
};

/** What `holdsAsOf` of a tenant is made of: the place of the newest. `isOwn` is the condition on the tenant column. */
export function holdsAsOf(isOwn: string, backend: Backend): string {
  return `SELECT max(entries.leaf_index) AS holds_as_of FROM entries WHERE ${isOwn} AND ${IS_HOLD_NOTICE[backend]}`;
}

/** While no notice tells of a hold or a policy. */
export const NO_HOLDS = 'none';

/** Reads a row of `holdsAsOf`, whatever it holds: an altered index must not stop the service. */
export function holdsAsOfIn(row: Readonly<Record<string, unknown>> | undefined): string {
  const newest = (row?.['holds_as_of'] ?? NO_HOLDS) as bigint | number | string;
  return String(newest);
}
