// Compares the rows of deletions and redactions with the notices of the tenant's logs: each range of each purge notice, and
// each redaction notice, has its row, and there is no other. Only the notices decide whether missing content is explained.

import { KINDS, type Notice } from '@tallystick/evidence';
import type { Deletion, RedactedEvent } from '../../streams/removal/removal.ts';
import { fault } from './store-fault.ts';

/** The ranges of a tenant's purge notices, in indexes of its sequence. */
export class NotedDeletions {
  /** Range to index of its notice. */
  readonly #noted = new Map<string, number>();

  /** `logFirstIndex` is the first index of the notice's log in the tenant's sequence. */
  notice({ kind, index, payload }: Notice, logFirstIndex: number): void {
    if (kind !== KINDS.purge) return;
    for (const [from, to] of payload.ranges)
      this.#noted.set(
        nameOf({ firstIndex: from + logFirstIndex, endIndex: to + logFirstIndex }),
        index + logFirstIndex,
      );
  }

  /** Called once per row; throws EvidenceError. */
  require(deletion: Deletion): void {
    const name = nameOf(deletion);
    if (this.#noted.get(name) !== deletion.noticeIndex)
      throw fault(
        'GAP_UNEXPLAINED',
        `a row says that ${name} was removed under the notice at index ${deletion.noticeIndex}, and no notice there says so: the row was inserted or changed by hand`,
        deletion.firstIndex,
      );
    this.#noted.delete(name);
  }

  /** Called after the last row; throws EvidenceError if one is missing. */
  end(): void {
    for (const [name, index] of this.#noted)
      throw fault(
        'TRUNCATED',
        `the row is gone that says ${name} was removed under the notice at ${index}`,
        index,
      );
  }
}

/** The events that a tenant's redaction notices name, in indexes of its sequence. */
export class NotedRedactions {
  /** Index of the notice to that of its event. */
  readonly #noted = new Map<number, number>();

  notice({ kind, index, payload }: Notice, logFirstIndex: number): void {
    if (kind === KINDS.redaction) this.#noted.set(index + logFirstIndex, payload.leafIndex + logFirstIndex);
  }

  /** Called once per row; throws EvidenceError. */
  require({ index, noticeIndex }: RedactedEvent): void {
    if (this.#noted.get(noticeIndex) !== index)
      throw fault(
        'GAP_UNEXPLAINED',
        `a row says that the event at index ${index} was redacted under the notice at index ${noticeIndex}, and no notice there says so: the row was inserted or changed by hand`,
        index,
      );
    this.#noted.delete(noticeIndex);
  }

  /** Called after the last row; throws EvidenceError if one is missing. */
  end(): void {
    for (const [noticeIndex, index] of this.#noted)
      throw fault(
        'TRUNCATED',
        `the row is gone that says the event at index ${index} was redacted under the notice at ${noticeIndex}`,
        noticeIndex,
      );
  }
}

function nameOf({ firstIndex, endIndex }: Pick<Deletion, 'firstIndex' | 'endIndex'>): string {
  return `the content from index ${firstIndex} to ${endIndex - 1}`;
}
