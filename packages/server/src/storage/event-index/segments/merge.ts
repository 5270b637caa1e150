// Makes one segment of several neighbours, without a look at their events: what comes out is, byte for byte, what would have
// been made of all events at once. It keeps the columns of all docs in memory, and of terms a block of each segment.

import { ByteWriter, compareBytes, termOf } from './bytes.ts';
import {
  type Columns,
  columnsFor,
  EVENT_ID_BYTES,
  ofEachValue,
  type ValueText,
  writeColumns,
} from './column-writer.ts';
import type { EntryReader } from './dictionary.ts';
import type { ReadValue } from './searched.ts';
import type { SectionCursor, Segment } from './segment.ts';
import {
  COLUMN_DOCS,
  FORMAT,
  type Footer,
  NUMBER_COLUMNS,
  type TakeBlock,
  type ValueColumn,
} from './segment-format.ts';
import { SectionWriter } from './section-writer.ts';
import { type Section, SECTIONS } from './terms.ts';

/** A segment, and how many docs come before its own. */
interface Part {
  readonly segment: Segment;
  readonly before: number;
}

/** `segments` follow one another in the log. */
export async function mergeSegments(segments: readonly Segment[], take: TakeBlock): Promise<Footer> {
  let docs = 0;
  const parts = segments.map((segment) => {
    const before = docs;
    docs += segment.docs;
    return { segment, before };
  });
  const sections: Partial<Record<Section, number>> = {};
  for (const section of SECTIONS) {
    const root = await mergeSection(section, parts, docs, take);
    if (root !== undefined) sections[section] = root;
  }
  const columns = columnsFor(docs);
  for (const part of parts) await addColumns(part, columns);
  const texts = ofEachValue((): ValueText[] => []);
  for (const column of ['action', 'actor', 'resourceType'] as const)
    texts[column] = await mergeValues(column, parts, columns[column]);
  const shifted = (name: 'absent' | 'unread') =>
    parts.flatMap(({ segment, before }) => segment.footer[name].map((doc) => doc + before));
  return {
    format: FORMAT,
    firstIndex: segments[0]!.firstIndex,
    docs,
    sections,
    ...writeColumns(columns, texts, take),
    absent: shifted('absent'),
    unread: shifted('unread'),
  };
}

interface Input {
  readonly cursor: SectionCursor;
  readonly before: number;
}

async function mergeSection(
  section: Section,
  parts: readonly Part[],
  docs: number,
  take: TakeBlock,
): Promise<number | undefined> {
  const inputs = parts.map(({ segment, before }) => ({ cursor: segment.cursor(section), before }));
  await Promise.all(inputs.map(({ cursor }) => cursor.open()));
  const writer = new SectionWriter(section, docs, take);
  const list = new Uint32Array(docs);
  const places = new ByteWriter();
  const same: Input[] = [];
  for (;;) {
    findLowest(inputs, same);
    const [first] = same;
    if (first === undefined) return writer.end();
    let count = 0;
    let hasPlaces = false;
    for (const { cursor, before } of same) {
      const adding = cursor.addDocs(list, count, before);
      if (adding !== undefined) await adding;
      count += cursor.entry.count;
      hasPlaces ||= cursor.entry.hasPlaces;
    }
    if (hasPlaces) {
      places.length = 0;
      for (const { cursor } of same) {
        const adding = cursor.entry.hasPlaces
          ? cursor.addPlaces(places)
          : addNone(places, cursor.entry.count);
        if (adding !== undefined) await adding;
      }
    }
    const { term, termLength } = first.cursor.entry;
    writer.term(term, termLength, list, count, hasPlaces ? places.written() : undefined);
    for (const { cursor } of same) {
      const advancing = cursor.advance();
      if (advancing !== undefined) await advancing;
    }
  }
}

/** Of docs without a place. */
function addNone(places: ByteWriter, docs: number): void {
  for (let i = 0; i < docs; i++) places.byte(0);
}

/** Puts those that have the lowest term into `same`, in their order. */
function findLowest(inputs: readonly Input[], same: Input[]): void {
  same.length = 0;
  for (const input of inputs) {
    if (!input.cursor.isOpen) continue;
    const [lowest] = same;
    const order = lowest === undefined ? 0 : compareEntries(input.cursor.entry, lowest.cursor.entry);
    if (order > 0) continue;
    if (order < 0) same.length = 0;
    same.push(input);
  }
}

function compareEntries(a: EntryReader, b: EntryReader): number {
  return compareBytes(a.term, a.termLength, b.term, b.termLength);
}

async function addColumns({ segment, before }: Part, columns: Columns): Promise<void> {
  for (let first = 0; first < segment.docs; first += COLUMN_DOCS) {
    const block = first / COLUMN_DOCS;
    const at = before + first;
    for (const name of NUMBER_COLUMNS) columns[name].set(await segment.numbers(name, block), at);
    columns.traits.set(await segment.traitsIn(block), at);
    columns.eventId.set(await segment.eventIds(block), at * EVENT_ID_BYTES);
  }
}

/** All texts in the order of their bytes, each with its newest names; the column is numbered by it. */
async function mergeValues(
  column: ValueColumn,
  parts: readonly Part[],
  numbers: Uint32Array,
): Promise<ValueText[]> {
  const merged = new Map<string, ValueText>();
  const own = await Promise.all(parts.map(({ segment }) => segment.values(column)));
  for (const [i, { before }] of parts.entries()) {
    for (const value of own[i]!) merged.set(value.text, newer(merged.get(value.text), value, before));
  }
  const texts = [...merged.values()].map((value) => ({ value, term: termOf(value.text) }));
  texts.sort((a, b) => (a.term < b.term ? -1 : 1));
  const placeOf = new Map(texts.map(({ value }, place) => [value.text, place]));
  for (const [i, { segment, before }] of parts.entries()) {
    const places = Uint32Array.from(own[i]!, ({ text }) => placeOf.get(text)!);
    for (let first = 0; first < segment.docs; first += COLUMN_DOCS) {
      const block = await segment.valuePlaces(column, first / COLUMN_DOCS);
      for (let doc = 0; doc < block.length; doc++) numbers[before + first + doc] = places[block[doc]!] ?? 0;
    }
  }
  return texts.map(({ value }) => value);
}

/** Of an older and a newer segment. */
function newer(old: ValueText | undefined, { text, label, openLabel }: ReadValue, before: number): ValueText {
  const moved = (own: ReadValue['label'], older: ReadValue['label']) =>
    own === undefined ? older : { text: own.text, doc: own.doc + before };
  return { text, label: moved(label, old?.label), openLabel: moved(openLabel, old?.openLabel) };
}
