// Puts cosigned notes into the store: those that come while a commit is under way go together into the next one, so that
// many logs cost few commits of the writer that events wait for.

import type { CosignedCheckpoint, TreeWriter } from './tree.ts';

interface Waiting extends CosignedCheckpoint {
  readonly settle: PromiseWithResolvers<void>;
}

export class CosignatureStore {
  readonly #writer: Pick<TreeWriter, 'cosign'>;
  #waiting: Waiting[] = [];
  #isWriting = false;

  constructor(writer: Pick<TreeWriter, 'cosign'>) {
    this.#writer = writer;
  }

  /** Resolves once it is stored; rejects if it is not. */
  put(checkpoint: CosignedCheckpoint): Promise<void> {
    const settle = Promise.withResolvers<void>();
    this.#waiting.push({ ...checkpoint, settle });
    if (!this.#isWriting) void this.#write();
    return settle.promise;
  }

  async #write(): Promise<void> {
    this.#isWriting = true;
    while (this.#waiting.length > 0) {
      const together = this.#waiting;
      this.#waiting = [];
      try {
        const stored = await this.#writer.cosign(
          together.map(({ tenant, epoch, size, note }) => ({ tenant, epoch, size, note })),
        );
        for (const [i, { settle, size }] of together.entries()) {
          if (stored[i]) settle.resolve();
          else settle.reject(new Error(`the stored checkpoint of size ${size} is another one`));
        }
      } catch (error) {
        for (const { settle } of together) settle.reject(error);
      }
    }
    this.#isWriting = false;
  }
}
