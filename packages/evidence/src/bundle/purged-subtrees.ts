// Compares what a purge notice says of the tree with the tree itself: the roots of the subtrees that its ranges are made
// of, as far as a complete bundle shows all of their leaves, each as purged or as a notice. Memory stays bounded: of each
// size of subtree the last 16,384 are remembered. A fault is the log's own, so it is thrown only after the root is verified.

import { toBase64 } from '../bytes.ts';
import { EvidenceError } from '../errors.ts';
import { KINDS } from '../event/entry.ts';
import type { Notice } from '../event/notices.ts';
import { subtreesOf } from '../tree/tree.ts';

const REMEMBERED_MAX = 16_384;

export class PurgedSubtrees {
  /** By level, the roots of subtrees without a leaf that is still shown, by their index. */
  readonly #levels: Map<number, Uint8Array>[] = [];
  #fault: EvidenceError | undefined;

  /** Takes what a purged leaf or a notice completes, from the leaf upwards. */
  readonly completed = (level: number, index: number, root: Uint8Array): void => {
    const below = this.#levels[level - 1];
    if (level > 0 && !(below?.has(2 * index) && below.has(2 * index + 1))) return;
    const roots = (this.#levels[level] ??= new Map());
    roots.set(index, root);
    if (roots.size > REMEMBERED_MAX) roots.delete(roots.keys().next().value!);
  };

  notice(notice: Notice): void {
    if (notice.kind !== KINDS.purge) return;
    const { ranges, subtrees } = notice.payload;
    const made = ranges.flatMap(([begin, end]) => subtreesOf({ begin, end }));
    for (const [i, { level, index }] of made.entries()) {
      const root = this.#levels[level]?.get(index);
      if (root !== undefined && toBase64(root) !== subtrees[i]) this.#fault ??= contradiction(notice.index);
    }
  }

  /** Throws the first fault. */
  close(): void {
    if (this.#fault !== undefined) throw this.#fault;
  }
}

function contradiction(index: number): EvidenceError {
  const message = `purge notice at index ${index} names subtrees of another tree`;
  return new EvidenceError('NOTICE_INVALID', message, { index });
}
