// Makes pieces of the file of an export: reads events, judges what their reader sees of them, writes them in the format, and packs
// that. It runs in a thread of its own, with a connection of its own, so that an export makes nobody wait. A port: each backend
// brings the log.

import type { Conditions, EventId, ExportFormat, TenantId } from '@tallystick/contract';
import { type ContentPath, ResumableSha256, type Sha256State } from '@tallystick/evidence';
import type { Keeper } from '../holds/hold-judge.ts';
import type { IndexSight } from '../policies/sight.ts';
import { giveBack } from '../runtime/give-back.ts';
import type { LogReader, StoredEvent } from '../streams/log.ts';
import { EvidenceLines, type EvidencePlan, type EvidenceTrees, type Lines } from './evidence-lines.ts';
import { deflated, NOTHING_PACKED, type Packed, packedWith } from './packing/deflate.ts';
import { type Rows, rowWriter } from './seen-rows.ts';

/** Data alone, since it goes to the thread. */
export interface ShapingPlan {
  readonly tenant: TenantId;
  readonly format: ExportFormat;
  readonly contentColumns: readonly ContentPath[];
  readonly isPacked: boolean;
  /** The lines of their bundle are made, and not the events as the format has them. */
  readonly evidence: EvidencePlan | undefined;
  readonly sight: IndexSight;
  readonly keepers: readonly Keeper[];
  /** The first index of each log of the tenant, the newest first. */
  readonly logStarts: readonly number[];
  /** What stands before it does not belong to the export. */
  readonly fromIndex: number;
  /** Where the snapshot ends. */
  readonly endIndex: number;
  readonly kinds: readonly ('Event' | 'Notice')[];
  /** All must hold for an event as it is seen. */
  readonly conditions: Conditions | undefined;
}

/** What a piece is made of: the next events of the log, or some that an index has found. */
export type Source =
  | { readonly of: 'Log'; readonly from: number }
  | { readonly of: 'Found'; readonly events: readonly StoredEvent[] };

/** How far the file has come. */
export interface Before {
  readonly events: number;
  readonly packed: Packed;
  /** Of the text; undefined: nobody asks for it. */
  readonly hash: Sha256State | undefined;
  /** Events that were passed and are not shown, by their reason. */
  readonly withheld: Withheld;
}

export interface Withheld {
  readonly clearance: number;
  readonly purged: number;
}

export interface Piece extends Pick<Before, 'packed' | 'hash'> {
  /** As it stands in the file. */
  readonly bytes: Uint8Array;
  /** In this piece. */
  readonly events: number;
  readonly withheld: Withheld;
  /** Of the log: the first index behind the piece. */
  readonly next: number;
  /** Left out, since they differ from what was hashed. */
  readonly altered: readonly AlteredEvent[];
  /** The first event whose content was removed since the snapshot was taken. */
  readonly purged: number | undefined;
}

export interface AlteredEvent {
  readonly eventId: EventId;
  readonly index: number;
  readonly fault: string;
}

export interface Shaping {
  /** The next piece. */
  shape(plan: ShapingPlan, source: Source, before: Before): Promise<Piece>;
}

/** Of one piece. */
const EVENTS_MAX = 2000;
const TEXT_BYTES_MAX = 4 * 1024 * 1024;
/** Of what is read, held against its hashes and written at once: few, so that they are garbage while they are young. */
const PAGE_EVENTS_MAX = 250;
const PAGE_BYTES_MAX = 1024 * 1024;
const NONE_WITHHELD: Withheld = { clearance: 0, purged: 0 };

/** At the beginning of a text. */
export function nothingBefore(isHashed: boolean): Before {
  const hash = isHashed ? new ResumableSha256().state : undefined;
  return { events: 0, packed: NOTHING_PACKED, hash, withheld: NONE_WITHHELD };
}

/** What is known behind a piece. */
export function behind(
  before: Before,
  piece: Pick<Piece, 'events' | 'packed' | 'hash' | 'withheld'>,
): Before {
  const { events, withheld, packed, hash } = piece;
  return {
    events: before.events + events,
    packed,
    hash,
    withheld: sum(before.withheld, withheld),
  };
}

function sum(a: Withheld, b: Withheld): Withheld {
  return { clearance: a.clearance + b.clearance, purged: a.purged + b.purged };
}

/** A text that has no events. */
export function added(before: Before, raw: Uint8Array): Omit<Piece, 'bytes'> {
  const hash = before.hash && new ResumableSha256(before.hash).update(raw).state;
  const packed = packedWith(before.packed, raw);
  return { packed, hash, events: 0, withheld: NONE_WITHHELD, next: 0, altered: [], purged: undefined };
}

export class Shaper {
  readonly #log: Pick<LogReader, 'forTenant'>;
  readonly #evidence: EvidenceLines;

  constructor(log: Pick<LogReader, 'forTenant'>, trees: EvidenceTrees) {
    this.#log = log;
    this.#evidence = new EvidenceLines(trees);
  }

  async shape(plan: ShapingPlan, source: Source, before: Before): Promise<Piece> {
    const { endIndex, isPacked } = plan;
    const writeRows = rowWriter(plan);
    const texts: Buffer[] = [];
    let part: Part = { events: 0, withheld: NONE_WITHHELD, altered: [], purged: undefined };
    let last = endIndex - 1;
    for await (const stored of source.of === 'Found' ? [source.events] : this.#pages(plan, source.from)) {
      const rows = writeRows(stored, before.events + part.events === 0);
      const lines = await this.#lines(plan, stored, rows);
      texts.push(Buffer.from(lines?.text ?? rows.text));
      part = joined(part, rows, lines ?? { events: rows.shown.length, altered: [], purged: undefined });
      last = stored.at(-1)?.index ?? last;
    }
    const raw = Buffer.concat(texts);
    for (const text of texts) giveBack(text);
    const { packed, hash } = added(before, raw);
    const bytes = isPacked ? await deflated(raw) : raw;
    if (bytes !== raw) giveBack(raw);
    return { ...part, packed, hash, bytes, next: last + 1 };
  }

  /** Undefined: rows are asked for. */
  async #lines(
    plan: ShapingPlan,
    stored: readonly StoredEvent[],
    { shown }: Rows,
  ): Promise<Lines | undefined> {
    const { evidence } = plan;
    return evidence && this.#evidence.linesOf(evidence, plan, evidence.isComplete ? stored : shown);
  }

  /** Of one piece. While a page is written the next one is read. */
  async *#pages({ tenant, endIndex }: ShapingPlan, from: number): AsyncGenerator<readonly StoredEvent[]> {
    const log = this.#log.forTenant(tenant);
    let [events, bytes] = [0, 0];
    const read = (index: number) => {
      const isWhole = index >= endIndex || events >= EVENTS_MAX || bytes >= TEXT_BYTES_MAX;
      if (isWhole) return undefined;
      const limit = Math.min(PAGE_EVENTS_MAX, EVENTS_MAX - events);
      const page = log.events(index, endIndex, limit, { bytesMax: PAGE_BYTES_MAX });
      // Nobody may wait for it any more when it fails.
      page.catch(() => {});
      return page;
    };
    for (let asked = read(from); asked !== undefined; ) {
      const page: readonly StoredEvent[] = await asked;
      const last = page.at(-1);
      if (last === undefined) return;
      events += page.length;
      for (const each of page) bytes += textLengthOf(each);
      asked = read(last.index + 1);
      yield page;
    }
  }
}

/** What is known of the pages of a piece so far. */
type Part = Pick<Piece, 'events' | 'withheld' | 'altered' | 'purged'>;

function joined(part: Part, rows: Rows, made: Pick<Lines, 'events' | 'altered' | 'purged'>): Part {
  return {
    events: part.events + made.events,
    withheld: sum(part.withheld, rows.withheld),
    altered: [...part.altered, ...rows.altered, ...made.altered],
    purged: part.purged ?? rows.purged ?? made.purged,
  };
}

function textLengthOf({ content }: StoredEvent): number {
  return content !== undefined && 'texts' in content ? content.texts[0].length + content.texts[1].length : 0;
}
