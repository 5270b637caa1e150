// Finds content that is stored although a signed notice says that it was deleted: its removal is not finished, or somebody has put
// it back. The log is sound all the same, so it is counted, and is no fault. Whole contents are kept as ranges, like those
// that are gone (evidence, deletions.ts).

import { type Deleted, type IndexRange, KINDS, type Notice } from '@tallystick/evidence';

export class Undeleted {
  /** The events with content, ascending. */
  readonly #stored: IndexRange[] = [];
  /** The tags of the units that these have lost. */
  readonly #lost = new Map<number, readonly string[]>();
  /** Many events lose the same units: each list of tags is kept once. */
  readonly #lists = new Map<string, readonly string[]>();
  readonly #found = new Set<number>();

  get count(): number {
    return this.#found.size;
  }

  get first(): number | undefined {
    if (this.#found.size === 0) return undefined;
    return [...this.#found].reduce((first, index) => Math.min(first, index));
  }

  /** Called for each event in the order of the log, with what is deleted of it. */
  event(index: number, deleted: Deleted | undefined): void {
    if (deleted === true) return;
    const last = this.#stored.at(-1);
    if (last?.[1] === index) last[1] = index + 1;
    else this.#stored.push([index, index + 1]);
    if (deleted === undefined) return;
    const name = deleted.join();
    if (!this.#lists.has(name)) this.#lists.set(name, deleted);
    this.#lost.set(index, this.#lists.get(name)!);
  }

  /** A signed notice, which tells of events before it. */
  notice(notice: Notice): void {
    if (notice.kind === KINDS.purge)
      for (const [from, to] of notice.payload.ranges) this.#requireGone(from, to);
    if (notice.kind !== KINDS.redaction) return;
    const { leafIndex, tags } = notice.payload;
    const lost = this.#lost.get(leafIndex) ?? [];
    if (this.#isStored(leafIndex) && tags.some((tag) => !lost.includes(tag))) this.#found.add(leafIndex);
  }

  #requireGone(from: number, to: number): void {
    for (let at = this.#rangeEndingAfter(from); at < this.#stored.length; at++) {
      const [begin, end] = this.#stored[at]!;
      if (begin >= to) return;
      for (let index = Math.max(begin, from); index < Math.min(end, to); index++) this.#found.add(index);
    }
  }

  #isStored(index: number): boolean {
    const range = this.#stored[this.#rangeEndingAfter(index)];
    return range !== undefined && range[0] <= index;
  }

  #rangeEndingAfter(index: number): number {
    let low = 0;
    let high = this.#stored.length;
    while (low < high) {
      const middle = (low + high) >>> 1;
      if (this.#stored[middle]![1] <= index) low = middle + 1;
      else high = middle;
    }
    return low;
  }
}
