// Stores cosigned notes. Notes that arrive during a commit share the next one, so that many logs cost few commits of
// the writer that events wait for.

import type { CosignedCheckpoint, TreeWriter } from '../tree.ts';

export class CosignatureStore {
  readonly #writer: Pick<TreeWriter, 'cosign'>;
  #waiting: CosignedCheckpoint[] = [];
  /** The commit of the waiting notes. */
  #next: Promise<readonly boolean[]> | undefined;
  #last: Promise<unknown> = Promise.resolve();

  constructor(writer: Pick<TreeWriter, 'cosign'>) {
    this.#writer = writer;
  }

  /** Resolves once it is stored; rejects if it is not. */
  async put(checkpoint: CosignedCheckpoint): Promise<void> {
    const position = this.#waiting.push(checkpoint) - 1;
    this.#next ??= this.#last.then(() => this.#write());
    const stored = await this.#next;
    if (!stored[position]) throw new Error(`the stored checkpoint of size ${checkpoint.size} is another one`);
  }

  #write(): Promise<readonly boolean[]> {
    const together = this.#waiting;
    this.#waiting = [];
    this.#next = undefined;
    const stored = this.#writer.cosign(together);
    this.#last = stored.catch(() => undefined);
    return stored;
  }
}
