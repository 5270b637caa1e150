// Plans that find more docs than are gathered. Nothing is removed from a view as long as it lasts, so a plan that is common
// stays so: it is not counted again, which takes longer the more it finds.

import { hash } from 'node:crypto';

const REMEMBERED_MAX = 10_000;

export class CommonPlans {
  /** Those that were asked for last are at the end. */
  readonly #known = new Set<string>();

  has(plan: string): boolean {
    const name = nameOf(plan);
    if (!this.#known.delete(name)) return false;
    this.#known.add(name);
    return true;
  }

  add(plan: string): void {
    this.#known.add(nameOf(plan));
    if (this.#known.size <= REMEMBERED_MAX) return;
    const [oldest] = this.#known;
    this.#known.delete(oldest!);
  }
}

/** Plans may be long. */
function nameOf(plan: string): string {
  return hash('sha256', plan, 'base64url');
}
