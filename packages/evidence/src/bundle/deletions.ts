// The auditor's rule: content that was deleted must be covered by a later notice in the same log. Entries come in
// index order and a notice speaks only of what lies before it (notices.ts), so what it can explain is known when it
// comes; nothing else of it is kept. Whole events are kept as ranges: a million purged ones cost what one does.

import { type Entry, KINDS } from '../event/entry.ts';
import { EvidenceError } from '../errors.ts';
import type { IndexRange, Notice, NoticePayload } from '../event/notices.ts';
import type { Deleted } from './bundle-line.ts';

interface PurgedRange {
  from: number;
  to: number;
  notice: number;
}

/** A file that needs more is not read on: it was made to exhaust memory, not to be verified. */
const WAITING_MAX = 1_000_000;

export class Deletions {
  readonly #waitingMax: number;
  readonly #wholly: IndexRange[] = [];
  /** Deleted units that wait for a notice, by leaf index. */
  readonly #units = new Map<number, { readonly eventId: string; readonly tags: readonly string[] }>();
  /** Tags have no salt, so that many events lose the same ones: each list of them is kept once. */
  readonly #lists = new Map<string, readonly string[]>();
  #listed = 0;
  readonly #purged: PurgedRange[] = [];
  /** How many events each purge may still explain: it says itself how many it deleted. */
  readonly #countsLeft = new Map<number, number>();
  readonly #explaining = new Set<number>();
  #count = 0;
  #unexplained: number | undefined;

  /** What is kept in a store may wait without limit: an erasure alone may delete more units than a file may. */
  constructor(waitingMax = WAITING_MAX) {
    this.#waitingMax = waitingMax;
  }

  /** Events of which something was deleted. */
  get count(): number {
    return this.#count;
  }

  /** Those among them of which no notice explains it all: every one, until `explain` was asked. */
  get unexplained(): number {
    return this.#unexplained ?? this.#count;
  }

  deleted({ index, eventId }: Entry, what: Deleted): void {
    this.#count++;
    if (what !== true) {
      if (what.length > 0) this.#wait(index, eventId, what);
      this.#requireRoom(this.#units.size + this.#listed);
      return;
    }
    const last = this.#wholly.at(-1);
    if (last !== undefined && last[1] === index) last[1] = index + 1;
    else this.#wholly.push([index, index + 1]);
    this.#requireRoom(this.#wholly.length);
  }

  notice(notice: Notice): void {
    if (notice.kind === KINDS.purge) this.#purge(notice.index, notice.payload);
    if (notice.kind !== KINDS.redaction) return;
    const { leafIndex, eventId, tags } = notice.payload;
    const waiting = this.#units.get(leafIndex);
    if (waiting?.eventId !== eventId) return;
    const noticed = new Set(tags);
    const left = waiting.tags.filter((tag) => !noticed.has(tag));
    if (left.length === waiting.tags.length) return;
    this.#explaining.add(notice.index);
    if (left.length === 0) this.#units.delete(leafIndex);
    else this.#wait(leafIndex, eventId, left);
  }

  #wait(index: number, eventId: string, tags: readonly string[]): void {
    if (this.#units.size === 0) this.#lists.clear();
    if (this.#lists.size === 0) this.#listed = 0;
    const name = tags.join();
    if (!this.#lists.has(name)) this.#listed += tags.length;
    const kept = this.#lists.get(name) ?? tags;
    this.#lists.set(name, kept);
    this.#units.set(index, { eventId, tags: kept });
  }

  /** The indexes of the notices that explain every deletion; throws at the first one that none explains. */
  explain(): number[] {
    const whole = this.#gapsInRanges();
    const inPart = new Set(this.#units.keys());
    this.#unexplained = whole.events + inPart.size;
    const gaps = [whole.first, ...inPart].filter((gap) => gap !== undefined);
    if (gaps.length > 0) {
      const index = gaps.reduce((first, gap) => Math.min(first, gap));
      const message = `content of entry ${index} is gone and no later notice in the log says why`;
      throw new EvidenceError('GAP_UNEXPLAINED', message, { index });
    }
    return [...this.#explaining].sort((a, b) => a - b);
  }

  #purge(notice: number, { ranges, count }: NoticePayload<typeof KINDS.purge>): void {
    this.#countsLeft.set(notice, count);
    for (const [from, to] of ranges) {
      const next = this.#wholly[this.#firstRangeEndingAfter(from)];
      if (next !== undefined && next[0] < to) this.#purged.push({ from, to, notice });
    }
    this.#requireRoom(this.#purged.length);
  }

  #firstRangeEndingAfter(index: number): number {
    let low = 0;
    let high = this.#wholly.length;
    while (low < high) {
      const middle = (low + high) >>> 1;
      if (this.#wholly[middle]![1] <= index) low = middle + 1;
      else high = middle;
    }
    return low;
  }

  /** The first whole event that no purge explains, and how many there are. */
  #gapsInRanges(): { first: number | undefined; events: number } {
    // Stable: of those that begin together the earlier notice comes first, as it did in the log.
    this.#purged.sort((a, b) => a.from - b.from);
    let [next, events] = [0, 0];
    let first: number | undefined;
    for (const [from, to] of this.#wholly) {
      for (let reached = from; reached < to; ) {
        // A purge that is over is passed by for good: a hostile file could have a million of them for each event.
        while (next < this.#purged.length && this.#isOver(this.#purged[next]!, reached)) next++;
        const purged = this.#purged[next];
        if (purged !== undefined && purged.from <= reached) {
          reached += this.#explained(purged, reached, to);
          continue;
        }
        first ??= reached;
        const end = Math.min(to, purged?.from ?? to);
        events += end - reached;
        reached = end;
      }
    }
    return { first, events };
  }

  /** It explains none of the events from `reached` on. */
  #isOver({ to, notice }: PurgedRange, reached: number): boolean {
    return to <= reached || this.#countsLeft.get(notice) === 0;
  }

  /** How many of the events from `reached` on a purge explains. */
  #explained(purged: PurgedRange, reached: number, to: number): number {
    const left = this.#countsLeft.get(purged.notice)!;
    const events = Math.min(purged.to - reached, to - reached, left);
    this.#countsLeft.set(purged.notice, left - events);
    this.#explaining.add(purged.notice);
    return events;
  }

  #requireRoom(waiting: number): void {
    if (waiting <= this.#waitingMax) return;
    throw new EvidenceError('MALFORMED', `over ${this.#waitingMax} deletions wait for a notice`);
  }
}
