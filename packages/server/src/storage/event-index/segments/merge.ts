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
import type { ReadValue } from './searched.ts';
import type { SectionCursor } from './section-cursor.ts';
import type { Segment } from './segment.ts';
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

/** So many terms take less than a millisecond. */
const TERMS_UNPAUSED = 256;

/** A segment, and how many docs come before its own. */
interface Part {
  readonly segment: Segment;
  readonly before: number;
}

/** `segments` follow one another in the log. It pauses now and then, so that others have their turn. */
export async function mergeSegments(
  segments: readonly Segment[],
  take: TakeBlock,
  pause: () => Promise<void> = async () => {},
): Promise<Footer> {
  let docs = 0;
  const parts = segments.map((segment) => {
    const before = docs;
    docs += segment.docs;
    return { segment, before };
  });
  const sections: Partial<Record<Section, number>> = {};
  for (const section of SECTIONS) {
    const root = await mergeSection(section, parts, docs, take, pause);
    if (root !== undefined) sections[section] = root;
  }
  const columns = columnsFor(docs);
  for (const part of parts) await addColumns(part, columns);
  const texts = ofEachValue((): ValueText[] => []);
  for (const column of ['action', 'actor', 'resourceType'] as const)
    texts[column] = await mergeValues(column, parts, columns[column]);
  return {
    format: FORMAT,
    firstIndex: segments[0]!.firstIndex,
    docs,
    sections,
    ...writeColumns(columns, texts, take),
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
  pause: () => Promise<void>,
): Promise<number | undefined> {
  const inputs = parts.map(({ segment, before }) => ({ cursor: segment.cursor(section), before }));
  await Promise.all(inputs.map(({ cursor }) => cursor.open()));
  const writer = new SectionWriter(section, docs, take);
  const list = new Uint32Array(docs);
  const places = new ByteWriter();
  /** By their terms, and those with the same term in the order of the log. */
  const sorted: Input[] = [];
  for (const input of inputs) insert(sorted, input);
  for (let terms = 1; sorted.length > 0; terms++) {
    if (terms % TERMS_UNPAUSED === 0) await pause();
    const same = sorted.splice(0, sameCount(sorted));
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
    const { term, termLength } = same[0]!.cursor.entry;
    writer.term(term, termLength, list, count, hasPlaces ? places.written() : undefined);
    for (const input of same) {
      const advancing = input.cursor.advance();
      if (advancing !== undefined) await advancing;
      insert(sorted, input);
    }
  }
  return writer.end();
}

/** How many have the lowest term. */
function sameCount(sorted: readonly Input[]): number {
  let count = 1;
  while (count < sorted.length && compareTerms(sorted[count]!, sorted[0]!) === 0) count++;
  return count;
}

/** Where it belongs; nowhere if it has no term left. */
function insert(sorted: Input[], input: Input): void {
  if (!input.cursor.isOpen) return;
  let low = 0;
  let high = sorted.length;
  while (low < high) {
    const middle = (low + high) >>> 1;
    const other = sorted[middle]!;
    if ((compareTerms(other, input) || other.before - input.before) < 0) low = middle + 1;
    else high = middle;
  }
  sorted.splice(low, 0, input);
}

function compareTerms({ cursor: { entry: a } }: Input, { cursor: { entry: b } }: Input): number {
  return compareBytes(a.term, a.termLength, b.term, b.termLength);
}

/** Of docs without a place. */
function addNone(places: ByteWriter, docs: number): void {
  for (let i = 0; i < docs; i++) places.byte(0);
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
