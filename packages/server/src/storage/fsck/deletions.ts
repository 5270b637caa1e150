// What the store says was removed under which notice, against the purge notices of the tenant's logs: each range of each notice
// has its row, and there is no other. Whether content that is gone is explained at all is judged by the notices alone.

import { KINDS, type Notice } from '@tallystick/evidence';
import type { Deletion } from '../../streams/removal/removal.ts';
import { fault } from './store-fault.ts';

/** The ranges of a tenant's purge notices, in indexes of its sequence. */
export class ToldDeletions {
  /** By its range; the value is the notice's index. */
  readonly #told = new Map<string, number>();

  /** `logFirstIndex` is that of the log of the notice, in the tenant's sequence. */
  notice({ kind, index, payload }: Notice, logFirstIndex: number): void {
    if (kind !== KINDS.purge) return;
    for (const [from, to] of payload.ranges)
      this.#told.set(
        nameOf({ firstIndex: from + logFirstIndex, endIndex: to + logFirstIndex }),
        index + logFirstIndex,
      );
  }

  /** Each row once; throws EvidenceError. */
  require(deletion: Deletion): void {
    const name = nameOf(deletion);
    if (this.#told.get(name) !== deletion.noticeIndex)
      throw fault(
        'GAP_UNEXPLAINED',
        `a row says that ${name} was removed under the notice at index ${deletion.noticeIndex}, and no notice there says so: somebody has put or changed it`,
        deletion.firstIndex,
      );
    this.#told.delete(name);
  }

  /** After the last row: throws EvidenceError where one is missing. */
  end(): void {
    for (const [name, index] of this.#told)
      throw fault(
        'TRUNCATED',
        `the row is gone that says ${name} was removed under the notice at ${index}`,
        index,
      );
  }
}

function nameOf({ firstIndex, endIndex }: Pick<Deletion, 'firstIndex' | 'endIndex'>): string {
  return `the content from index ${firstIndex} to ${endIndex - 1}`;
}
