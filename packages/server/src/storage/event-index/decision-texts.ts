// What has decided about events, as the index reads it: one text for many events (pool/decision-number.ts), so those that were
// read are kept.

import { numberOrNone, readOr } from '../rows/columns.ts';

/** A text has up to some 8 KB. */
const KEPT_MAX = 1000;

/** `Owner` is what a backend calls a tenant by. */
export class DecisionTexts<Owner extends string | number> {
  readonly #kept = new Map<string, string>();

  of(owner: Owner, decision: number | undefined): string | undefined {
    return decision === undefined ? undefined : this.#kept.get(keyOf(owner, decision));
  }

  keep(owner: Owner, decision: number, text: string): void {
    if (this.#kept.size >= KEPT_MAX) this.#kept.clear();
    this.#kept.set(keyOf(owner, decision), text);
  }
}

function keyOf(owner: string | number, decision: number): string {
  return `${decision} ${owner}`;
}

/** Undefined where settings alone have decided, and where somebody has changed the row. */
export function decisionIn(row: Readonly<Record<string, unknown>>): number | undefined {
  return readOr(() => numberOrNone(row, 'decision'), undefined);
}
