// Makes a segment from events: their terms, their columns, and the footer over both.

import { eventIdBytes } from '@tallystick/evidence';
import type { QueriedEvent } from '../../../query/queried-event.ts';
import { ByteWriter, termOf, varintBytes } from './bytes.ts';
import {
  EVENT_ID_BYTES,
  type Columns,
  columnsFor,
  firstDocs,
  type Label,
  ofEachValue,
  type ValueText,
  writeColumns,
} from './column-writer.ts';
import { EventTerms } from './event-terms.ts';
import { type TermDocs, TermTable } from './term-table.ts';
import { FORMAT, type Footer, type TakeBlock, type ValueColumn } from './segment-format.ts';
import { SectionWriter } from './section-writer.ts';
import { SECTIONS, type Section, TRAITS, traitsNumber } from './terms.ts';
import { momentOf } from './times.ts';
import { WordBytes } from './word-bytes.ts';

/** A text of a column. */
export interface BuiltValue {
  /** In the order in which they came. */
  readonly number: number;
  label?: Label;
  openLabel?: Label;
}

export class SegmentBuilder {
  readonly #firstIndex: number;
  readonly #docs: number;
  readonly sections = Object.fromEntries(SECTIONS.map((name) => [name, new TermTable()])) as Record<
    Section,
    TermTable
  >;
  readonly #terms = new EventTerms(this.sections);
  readonly #traits = this.sections.facts.group(TRAITS);
  /** By their numbers. */
  readonly #traitTerms: number[] = [];
  readonly columns: Columns;
  readonly values: Record<ValueColumn, Map<string, BuiltValue>> = ofEachValue(() => new Map());

  constructor(firstIndex: number, docs: number) {
    this.#firstIndex = firstIndex;
    this.#docs = docs;
    this.columns = columnsFor(docs);
  }

  /** One that is not added is found by nothing: its content is removed, or it is no event, for which this throws. */
  add(event: QueriedEvent, doc: number): void {
    const { classification, kind, outcome, action, actor, resource } = event;
    const { actorType, userId, serviceId, userName, serviceName } = actor;
    const columns = this.columns;
    const { atMs, atNs } = momentOf(event.timestamp);
    const receivedMs = Date.parse(event.receivedAt);
    if (![atMs, atNs, receivedMs].every(Number.isSafeInteger)) throw new Error('it has no time');
    const areTexts = isText(action) && isText(resource.resourceType);
    if (
      !areTexts ||
      ![userId, serviceId, userName, serviceName].every((text) => text === undefined || isText(text))
    )
      throw new Error('it has no text where one must be');
    const traits = traitsNumber({ classification, kind, outcome, actorType });
    columns.eventId.set(eventIdBytes(event.eventId), doc * EVENT_ID_BYTES);
    this.#terms.add(event, doc);
    columns.atMs[doc] = atMs;
    columns.atNs[doc] = atNs;
    columns.receivedMs[doc] = receivedMs;
    columns.action[doc] = this.#valueOf('action', action).number;
    columns.resourceType[doc] = this.#valueOf('resourceType', resource.resourceType).number;
    const name = userName ?? serviceName;
    const id = userId ?? serviceId;
    const value = this.#valueOf('actor', id ?? name ?? actorType);
    columns.actor[doc] = value.number;
    if (id !== undefined && name !== undefined) {
      value.label = { text: name, doc };
      if (classification !== 'Secret') value.openLabel = { text: name, doc };
    }
    // Last: a doc without traits is found by nothing.
    columns.traits[doc] = traits;
    this.sections.facts.addTo(this.#termOfTraits(traits), doc);
  }

  /** The first `docs` of them. */
  write(take: TakeBlock, docs = this.#docs): Footer {
    const places = new ByteWriter();
    const sections: Partial<Record<Section, number>> = {};
    for (const name of SECTIONS) {
      const writer = new SectionWriter(name, docs, take);
      this.sections[name].visit((term, length, docs) =>
        writer.term(term, length, docs.docs, docs.count, placesIn(docs, places)),
      );
      const root = writer.end();
      if (root !== undefined) sections[name] = root;
    }
    const columns = writeColumns(
      firstDocs(this.columns, docs),
      ofEachValue((name) => this.#textsOf(name)),
      take,
    );
    return {
      format: FORMAT,
      firstIndex: this.#firstIndex,
      docs,
      sections,
      ...columns,
    };
  }

  #termOfTraits(traits: number): number {
    const known = this.#traitTerms[traits];
    if (known !== undefined) return known;
    const term = this.sections.facts.numberOf(this.#traits, ...oneWord(String.fromCharCode(traits)));
    return (this.#traitTerms[traits] = term);
  }

  #valueOf(column: ValueColumn, text: string): BuiltValue {
    const values = this.values[column];
    let value = values.get(text);
    if (value === undefined) values.set(text, (value = { number: values.size }));
    return value;
  }

  /** In the order of their bytes; the column is numbered by it. */
  #textsOf(column: ValueColumn): ValueText[] {
    const values = [...this.values[column]].map(([text, value]) => ({ text, term: termOf(text), ...value }));
    values.sort((a, b) => (a.term < b.term ? -1 : 1));
    const numbers = new Uint32Array(values.length);
    for (const [place, { number }] of values.entries()) numbers[number] = place;
    const docs = this.columns[column];
    for (let doc = 0; doc < docs.length; doc++) docs[doc] = numbers[docs[doc]!]!;
    return values.map(({ text, label, openLabel }) => ({ text, label, openLabel }));
  }
}

/** As its type says; but somebody may have changed the row. */
function isText(value: unknown): boolean {
  return typeof value === 'string';
}

function oneWord(text: string): [WordBytes, number] {
  const words = new WordBytes();
  return [words, words.add(text)];
}

/**
 * Of each doc how many bytes its places take, so that they can be passed over, and each place after the one before; undefined
 * where no doc has any.
 */
function placesIn({ count, placed, placedLength }: TermDocs, writer: ByteWriter): Uint8Array | undefined {
  if (placedLength === 0) return undefined;
  writer.length = 0;
  let at = 0;
  for (let doc = 0; doc < count; doc++) {
    let bytes = 0;
    let last = 0;
    let end = at;
    for (; end < placedLength && placed[end] === doc; end += 2) {
      bytes += varintBytes(placed[end + 1]! - last);
      last = placed[end + 1]!;
    }
    writer.varint(bytes);
    last = 0;
    for (; at < end; at += 2) {
      writer.varint(placed[at + 1]! - last);
      last = placed[at + 1]!;
    }
  }
  return writer.written();
}
