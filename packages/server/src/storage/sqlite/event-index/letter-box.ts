// Where events go that cannot be indexed: to the dead letters in work.db, which stay when the views are thrown away. It is
// opened with the first of them: most indexes never have any.

import type { TenantId } from '@tallystick/contract';
import { type IndexLetter, letterJob } from '../../event-index/index-letter.ts';
import { WorkDatabase } from '../work/work-database.ts';

export interface LetterBoxParts {
  readonly directory: string;
  readonly nextId: () => string;
  readonly nowMs: () => number;
}

export class LetterBox implements Disposable {
  readonly #parts: LetterBoxParts;
  #work: WorkDatabase | undefined;

  constructor(parts: LetterBoxParts) {
    this.#parts = parts;
  }

  /** It is on the disk when this returns. */
  add(letter: IndexLetter & { readonly tenant: TenantId }): void {
    const { directory, nextId, nowMs } = this.#parts;
    const work = (this.#work ??= new WorkDatabase(directory, nowMs));
    work.addLetter(letterJob(letter.tenant, letter, nextId()));
  }

  [Symbol.dispose](): void {
    this.#work?.[Symbol.dispose]();
  }
}
