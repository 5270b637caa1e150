// The auditor's rule: content that was deleted must be covered by a later notice in the same log. Deletions
// come in index order while a bundle is read and are kept as ranges, so a million purged events cost what
// one does; the notices may come after, inside the range or outside it. That a notice speaks only of what
// lies before it is checked where it is read (notices.ts).

import type { Deleted } from './bundle-line.ts';
import { type Entry, KINDS } from '../event/entry.ts';
import { EvidenceError } from '../errors.ts';
import type { IndexRange, Notice } from '../event/notices.ts';

interface PurgedRange {
  from: number;
  to: number;
  notice: number;
}

export class Deletions {
  readonly #wholly: IndexRange[] = [];
  readonly #units: { entry: Entry; tag: string }[] = [];
  readonly #purged: PurgedRange[] = [];
  /** `<leaf index> <event id> <tag>` of every unit that a redaction notice names, with the notice's index. */
  readonly #redacted = new Map<string, number>();
  readonly #explaining = new Set<number>();
  #count = 0;

  /** Events of which something was deleted. */
  get count(): number {
    return this.#count;
  }

  deleted(entry: Entry, what: Deleted): void {
    const { index } = entry;
    this.#count++;
    if (what !== true) {
      for (const tag of what) this.#units.push({ entry, tag });
      return;
    }
    const last = this.#wholly.at(-1);
    if (last !== undefined && last[1] === index) last[1] = index + 1;
    else this.#wholly.push([index, index + 1]);
  }

  notice(notice: Notice): void {
    if (notice.kind === KINDS.purge) {
      for (const [from, to] of notice.payload.ranges) this.#purged.push({ from, to, notice: notice.index });
    }
    if (notice.kind === KINDS.redaction) {
      const { leafIndex, eventId, tags } = notice.payload;
      for (const tag of tags) this.#redacted.set(`${leafIndex} ${eventId} ${tag}`, notice.index);
    }
  }

  /** The indexes of the notices that explain every deletion; throws at the first one that none explains. */
  explain(): number[] {
    const gaps = [this.#firstGapInRanges(), this.#firstGapInUnits()].filter((gap) => gap !== undefined);
    if (gaps.length > 0) {
      const index = Math.min(...gaps);
      const message = `content of entry ${index} is gone and no later notice in the log says why`;
      throw new EvidenceError('GAP_UNEXPLAINED', message, { index });
    }
    return [...this.#explaining].sort((a, b) => a - b);
  }

  #firstGapInRanges(): number | undefined {
    this.#purged.sort((a, b) => a.from - b.from);
    let next = 0;
    for (const [from, to] of this.#wholly) {
      while (next < this.#purged.length && this.#purged[next]!.to <= from) next++;
      let reached = from;
      for (let i = next; i < this.#purged.length && this.#purged[i]!.from <= reached && reached < to; i++) {
        const purged = this.#purged[i]!;
        if (purged.to <= reached) continue;
        reached = purged.to;
        this.#explaining.add(purged.notice);
      }
      if (reached < to) return reached;
    }
    return undefined;
  }

  #firstGapInUnits(): number | undefined {
    for (const { entry, tag } of this.#units) {
      const notice = this.#redacted.get(`${entry.index} ${entry.eventId} ${tag}`);
      if (notice === undefined) return entry.index;
      this.#explaining.add(notice);
    }
    return undefined;
  }
}
