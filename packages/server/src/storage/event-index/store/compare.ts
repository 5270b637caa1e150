// Compares a segment with the log by making it again: the two are the same to the byte, unless somebody has changed one of
// them, or a disk has. Where they differ, the events are named.

import type { TenantId } from '@tallystick/contract';
import { pauseForOthers } from '../../../runtime/pause.ts';
import type { IndexSpan } from '../../../streams/removal/removal.ts';
import { areOverlapping } from '../../rows/spans.ts';
import { compareBytes } from '../segments/bytes.ts';
import { EVENT_ID_BYTES } from '../segments/column-writer.ts';
import { DocSetBuilder } from '../segments/doc-set.ts';
import type { Segment } from '../segments/segment.ts';
import { COLUMN_DOCS, FOOTER_BLOCK, NUMBER_COLUMNS, VALUE_COLUMNS } from '../segments/segment-format.ts';
import { type Section, SECTIONS } from '../segments/terms.ts';
import { DamagedSegment } from './block-cache.ts';
import { BlockKeys, type BlockPlace, decodeBlock } from './block-codec.ts';
import { BlocksInMemory, makeSegment } from './make-segment.ts';
import { type ListedSegment, type Manifest, ofThisLog } from './manifest.ts';
import { openUncached } from './open-segment.ts';
import { BYTES_WAITING_MAX, footerBytes } from './segment-output.ts';
import type { IndexedLog, SegmentStore, StoredSegments } from './segment-store.ts';

export interface CompareParts {
  readonly store: Pick<SegmentStore, 'get'>;
  readonly log: Pick<IndexedLog, 'between' | 'secrets'>;
  /** Lets others have their turn; throws when it must stop. */
  readonly pause?: (() => Promise<void>) | undefined;
}

/** A difference between a segment and the log. */
export interface IndexFault {
  /** Of the first event that differs; undefined where none can be named. */
  readonly index: number | undefined;
  readonly message: string;
}

/** Undefined where the segment is what the log makes of it. */
export async function faultOfSegment(
  tenant: TenantId,
  listed: ListedSegment,
  { store, log, pause = pauseForOthers }: CompareParts,
): Promise<IndexFault | undefined> {
  const keys = new BlockKeys(...(await log.secrets(tenant)));
  const range = { tenant, ...listed };
  const comparison = new Comparison(tenant, listed.id, store, keys);
  try {
    const footer = await makeSegment(range, { log }, comparison.take, {
      async pause() {
        await comparison.compareMany();
        await pause();
      },
    });
    comparison.takeFooter(footerBytes(tenant, footer));
    await comparison.compare();
    if (!comparison.isDifferent) return undefined;
    const stored = await openUncached(tenant, listed, store, keys);
    const blocks = new BlocksInMemory();
    const made = blocks.segment(await makeSegment(range, { log }, blocks.take, { pause }));
    return faultOf(listed, await differingDocs(made, stored));
  } catch (error) {
    if (!(error instanceof DamagedSegment)) throw error;
    return { index: undefined, message: `the index of ${eventsOf(listed)} is damaged: ${error.message}` };
  }
}

export interface ComparedSegments {
  readonly faults: readonly IndexFault[];
  /** Of segments that hold what was removed since, and are about to be made again: they are not what the log makes of them. */
  readonly eventsLeftOut: number;
}

/** All segments that a search would read. `onCompared` is told how many events each has. */
export async function compareSegments(
  tenant: TenantId,
  { store, log, pause }: ComparedIndex & Pick<CompareParts, 'pause'>,
  onCompared: (events: number) => void,
): Promise<ComparedSegments> {
  const manifest = await store.manifest(tenant);
  const removed = await removedSince(tenant, manifest, log);
  const faults: IndexFault[] = [];
  let eventsLeftOut = 0;
  for (const segment of await ofThisLog(tenant, manifest?.segments ?? [], log)) {
    if (areOf(removed, segment)) {
      eventsLeftOut += segment.docs;
      continue;
    }
    const fault = await faultOfSegment(tenant, segment, { store, log, pause });
    if (fault !== undefined) faults.push(fault);
    onCompared(segment.docs);
  }
  return { faults, eventsLeftOut };
}

/** Whether some of its events are in one of the spans. */
export function areOf(spans: readonly IndexSpan[], { firstIndex, docs }: ListedSegment): boolean {
  return spans.some((span) => areOverlapping(span, { firstIndex, endIndex: firstIndex + docs }));
}

/** What notices have removed that its segments do not know of. */
export async function removedSince(
  tenant: TenantId,
  manifest: Manifest | undefined,
  log: Pick<IndexedLog, 'removedSince'>,
): Promise<IndexSpan[]> {
  const removals = await log.removedSince(tenant, manifest?.removalsTo ?? 0);
  return removals.flatMap(({ spans }) => spans);
}

/** What is needed for all segments of a tenant. */
export interface ComparedIndex {
  readonly store: StoredSegments;
  readonly log: Pick<IndexedLog, 'between' | 'secrets' | 'leaves' | 'removedSince'>;
}

/** Blocks as they are made, compared with those that are stored, some at a time. */
class Comparison {
  isDifferent = false;
  readonly #tenant: TenantId;
  readonly #segment: number;
  readonly #store: Pick<SegmentStore, 'get'>;
  readonly #keys: BlockKeys;
  #next = FOOTER_BLOCK + 1;
  #made: { readonly block: number; readonly section: Section | undefined; readonly raw: Buffer }[] = [];
  #bytes = 0;

  constructor(tenant: TenantId, segment: number, store: Pick<SegmentStore, 'get'>, keys: BlockKeys) {
    this.#tenant = tenant;
    this.#segment = segment;
    this.#store = store;
    this.#keys = keys;
  }

  readonly take = (raw: Buffer, section?: Section): number => {
    const block = this.#next++;
    this.#made.push({ block, section, raw });
    this.#bytes += raw.length;
    return block;
  };

  takeFooter(raw: Buffer): void {
    this.#made.push({ block: FOOTER_BLOCK, section: undefined, raw });
  }

  async compareMany(): Promise<void> {
    if (this.#bytes >= BYTES_WAITING_MAX) await this.compare();
  }

  async compare(): Promise<void> {
    const [tenant, segment, made] = [this.#tenant, this.#segment, this.#made];
    this.#made = [];
    this.#bytes = 0;
    if (this.isDifferent) return;
    const stored = await this.#store.get(
      tenant,
      made.map(({ block }) => ({ segment, block })),
    );
    for (const [i, { block, section, raw }] of made.entries()) {
      this.isDifferent ||= !this.#isSame(stored[i], { tenant, segment, block, section }, raw);
    }
  }

  /** A block that does not open here may be sound, and of another section. */
  #isSame(stored: Buffer | undefined, place: BlockPlace, raw: Buffer): boolean {
    if (stored === undefined) return false;
    try {
      return decodeBlock(stored, place, this.#keys).equals(raw);
    } catch {
      return false;
    }
  }
}

function faultOf(listed: ListedSegment, docs: readonly number[]): IndexFault {
  const [first] = docs;
  if (first === undefined)
    return { index: undefined, message: `the index of ${eventsOf(listed)} differs from the log` };
  const index = listed.firstIndex + first;
  const others =
    docs.length === 1 ? '' : `, and at ${docs.length - 1} more up to ${listed.firstIndex + docs.at(-1)!}`;
  return { index, message: `the index differs from the log at event ${index}${others}` };
}

function eventsOf({ firstIndex, docs }: ListedSegment): string {
  return `the events from ${firstIndex} to ${firstIndex + docs - 1}`;
}

/** From the lowest; none where the two differ in something that is of no doc. */
async function differingDocs(made: Segment, stored: Segment): Promise<readonly number[]> {
  const differing = new DocSetBuilder(made.docs);
  try {
    for (const section of SECTIONS) await compareTerms(section, made, stored, differing);
    for (let first = 0; first < made.docs; first += COLUMN_DOCS)
      await compareColumns(first, made, stored, differing);
  } catch (error) {
    // What somebody has changed may not be readable to its end: those that were met are named.
    const met = differing.take();
    if (!(error instanceof DamagedSegment) || met.count === 0) throw error;
    return [...met.list()];
  }
  return [...differing.take().list()];
}

async function compareTerms(
  section: Section,
  made: Segment,
  stored: Segment,
  differing: DocSetBuilder,
): Promise<void> {
  const [a, b] = [made.cursor(section), stored.cursor(section)];
  await Promise.all([a.open(), b.open()]);
  const lists = [new Uint32Array(made.docs), new Uint32Array(made.docs)] as const;
  while (a.isOpen || b.isOpen) {
    const order = !a.isOpen
      ? 1
      : !b.isOpen
        ? -1
        : compareBytes(a.entry.term, a.entry.termLength, b.entry.term, b.entry.termLength);
    const [ofA, ofB] = [order <= 0 ? a.entry.count : 0, order >= 0 ? b.entry.count : 0];
    if (ofA > 0) await a.addDocs(lists[0], 0, 0);
    if (ofB > 0) await b.addDocs(lists[1], 0, 0);
    addDifferent(lists[0].subarray(0, ofA), lists[1].subarray(0, ofB), differing);
    if (order <= 0) await a.advance();
    if (order >= 0) await b.advance();
  }
}

/** What is in one of two sorted lists alone. */
function addDifferent(a: Uint32Array, b: Uint32Array, differing: DocSetBuilder): void {
  for (let i = 0, j = 0; i < a.length || j < b.length; ) {
    if (a[i] === b[j]) {
      i++;
      j++;
    } else if (j >= b.length || a[i]! < b[j]!) differing.add(a[i++]!);
    else differing.add(b[j++]!);
  }
}

async function compareColumns(
  first: number,
  made: Segment,
  stored: Segment,
  differing: DocSetBuilder,
): Promise<void> {
  const block = first / COLUMN_DOCS;
  const columnsOf = (segment: Segment) =>
    Promise.all([
      segment.traitsIn(block),
      ...NUMBER_COLUMNS.map((name) => segment.numbers(name, block)),
      ...VALUE_COLUMNS.map(async (name) => {
        const [places, values] = [await segment.valuePlaces(name, block), await segment.values(name)];
        return Array.from(places, (place) => values[place]?.text);
      }),
      eventIdsIn(segment, block),
    ]);
  const [own, theirs] = [await columnsOf(made), await columnsOf(stored)];
  for (const [column, values] of own.entries())
    for (let doc = 0; doc < values.length; doc++)
      if (values[doc] !== theirs[column]![doc]) differing.add(first + doc);
}

async function eventIdsIn(segment: Segment, block: number): Promise<string[]> {
  const ids = await segment.eventIds(block);
  return Array.from({ length: ids.length / EVENT_ID_BYTES }, (_, doc) =>
    ids.toString('latin1', doc * EVENT_ID_BYTES, (doc + 1) * EVENT_ID_BYTES),
  );
}
