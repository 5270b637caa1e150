// Plans that find more docs than are gathered. Nothing is removed from a view as long as it lasts, so a plan that finds many
// goes on to: it is not counted again, which takes longer the more it finds.

import { hash } from 'node:crypto';

const REMEMBERED_MAX = 10_000;

export class FrequentPlans {
  /** How far the view was then. Those that were asked for last are at the end. */
  readonly #known = new Map<string, number>();

  /** `nextIndex` is how far the view is: where it has come back from further on, the database was put back. */
  has(plan: string, nextIndex: number): boolean {
    const name = nameOf(plan);
    const known = this.#known.get(name);
    if (known === undefined) return false;
    this.#known.delete(name);
    if (nextIndex < known) return false;
    this.#known.set(name, known);
    return true;
  }

  add(plan: string, nextIndex: number): void {
    this.#known.set(nameOf(plan), nextIndex);
    if (this.#known.size <= REMEMBERED_MAX) return;
    const [oldest] = this.#known.keys();
    this.#known.delete(oldest!);
  }
}

/** Plans may be long. */
function nameOf(plan: string): string {
  return hash('sha256', plan, 'base64url');
}
