// Writes events into views: their docs, their keys and their counts. It is called inside a transaction that has locked the
// views, which makes all of it, and how far these have come, one commit. Docs are written by one statement for many, keys
// and counts by one for all of a portion.

import { eventIdBytes } from '@tallystick/evidence';
import type { QueriedEvent } from '../../../query/queried-event.ts';
import { CountTally } from '../../event-index/count-tally.ts';
import { type Document, documentOf } from '../../event-index/document.ts';
import { KEY_KINDS, type KeyKind, KINDS, SPANS } from '../../event-index/index-columns.ts';
import { hourOf } from '../../event-index/time-span.ts';
import { CLASSIFICATIONS } from '../../rows/classification-column.ts';
import { bigints, integers, smallints, texts } from '../connection/binary-arrays.ts';
import type { Transaction } from '../connection/database.ts';
import { DocColumns } from './doc-columns.ts';
import { FIRST_DOCS } from './first-docs.ts';
import { ADD_COUNTS, ADD_LARGE, INSERT_DOCS, INSERT_KEYS, type ViewsStatement } from './view-statements.ts';
import type { OpenView } from './views.ts';

interface Label {
  label: string | undefined;
  openLabel: string | undefined;
}

type Keys = ReadonlyMap<KeyKind, Map<string, Label>>;

/** What is to be written into one view, or into several where tables are not distributed. */
export class WrittenPortion {
  readonly #views: readonly OpenView[];
  #docs = new DocColumns();
  #isEmpty = true;
  /** By the place of the view. */
  readonly #keys: readonly Keys[];
  readonly #large: number[];
  readonly #tally = new CountTally<string>();

  constructor(views: readonly OpenView[]) {
    this.#views = views;
    this.#keys = views.map(() => new Map(KEY_KINDS.map((kind) => [kind, new Map()])));
    this.#large = views.map(() => 0);
  }

  /** Throws, and leaves nothing, if it cannot be indexed. `place` is that of the view. */
  add(index: number, event: QueriedEvent, place = 0): void {
    const { terms } = this.#views[place]!;
    const document = documentOf(event, terms);
    const { atMs, outcome, actorType, actor } = document;
    if (!isTold(document)) throw new Error(`the time ${event.timestamp} cannot be told`);
    const { action } = event;
    const { resourceType } = event.resource;
    for (const text of [action, resourceType, actor, document.actorLabel ?? ''])
      if (typeof text !== 'string') throw new Error(`${JSON.stringify(text)} stands where a text should`);
    const classification = CLASSIFICATIONS.indexOf(event.classification);
    const kind = KINDS.indexOf(event.kind);
    const eventId = eventIdBytes(event.eventId);
    const doc = { view: place, index, eventId, document, classification, kind, action, resourceType };
    if (this.#docs.add(doc, terms.prefix)) this.#large[place]! += 1;
    this.#isEmpty = false;
    const keys = this.#keys[place]!;
    addKey(keys, 'action', action);
    addKey(keys, 'resourceType', resourceType);
    addKey(keys, 'actor', actor, document.actorLabel, event.classification !== 'Secret');
    if (index < FIRST_DOCS) return;
    const values = {
      all: '',
      action,
      actor,
      resourceType,
      actorType: String(actorType),
      outcome: String(outcome),
    };
    this.#tally.count({ view: place, hour: hourOf(atMs), classification, kind, values });
  }

  /** The docs that were added since the last time. They are known by all that follows in the transaction. */
  writeDocs(transaction: Transaction): Promise<unknown> {
    const docs = this.#docs;
    if (docs.isEmpty) return Promise.resolve();
    this.#docs = new DocColumns();
    return this.#insert(transaction, INSERT_DOCS, docs.views(), docs.take());
  }

  /** All that is not written yet. */
  async write(transaction: Transaction): Promise<void> {
    if (this.#isEmpty) return;
    await Promise.all([
      this.writeDocs(transaction),
      this.#writeKeys(transaction),
      this.#writeCounts(transaction),
      ...this.#views
        .map(({ tenant, generation }, place) => [tenant, generation, this.#large[place]!])
        .filter(([, , large]) => large !== 0)
        .map((values) => transaction.query(ADD_LARGE, values)),
    ]);
  }

  /** `places` are those of the views that the rows belong to. */
  #insert(
    transaction: Transaction,
    { ofOne, ofMany }: ViewsStatement,
    places: readonly number[],
    columns: readonly Uint8Array[],
  ): Promise<unknown> {
    const views = this.#views;
    if (views.length === 1)
      return transaction.query(ofOne, [views[0]!.tenant, views[0]!.generation, ...columns]);
    const tenants = texts(places.map((place) => views[place]!.tenant));
    const generations = integers(places.map((place) => views[place]!.generation));
    return transaction.query(ofMany, [tenants, generations, ...columns]);
  }

  #writeKeys(transaction: Transaction): Promise<unknown> {
    const rows = this.#keys.flatMap((keys, view) =>
      KEY_KINDS.flatMap((kind, place) =>
        [...keys.get(kind)!].map(([text, label]) => ({ view, place, text, ...label })),
      ),
    );
    const places = rows.map(({ view }) => view);
    return this.#insert(transaction, INSERT_KEYS, places, [
      smallints(rows.map(({ place }) => place)),
      texts(rows.map(({ text }) => text)),
      texts(rows.map(({ label }) => label ?? null)),
      texts(rows.map(({ openLabel }) => openLabel ?? null)),
    ]);
  }

  #writeCounts(transaction: Transaction): Promise<unknown> {
    // In the order of the columns.
    const numbers: [number[], number[], number[], number[], number[]] = [[], [], [], [], []];
    const [spans, times, classes, kinds, counteds] = numbers;
    const places: number[] = [];
    const values: string[] = [];
    const numbersOfEvents: number[] = [];
    this.#tally.take(({ view, span, time, classification, kind }, counted, counts) => {
      for (const [value, count] of counts) {
        const row = [SPANS.indexOf(span), time, classification, kind, counted];
        for (const [i, number] of row.entries()) numbers[i]!.push(number);
        places.push(view);
        values.push(value);
        numbersOfEvents.push(count);
      }
    });
    return this.#insert(transaction, ADD_COUNTS, places, [
      smallints(spans),
      integers(times),
      ...[classes, kinds, counteds].map(smallints),
      texts(values),
      bigints(numbersOfEvents),
    ]);
  }
}

/** `isOpen`: everybody may know of the event that has the label. */
function addKey(all: Keys, kind: KeyKind, text: string, label?: string, isOpen = true): void {
  const keys = all.get(kind)!;
  let known = keys.get(text);
  if (known === undefined) keys.set(text, (known = { label: undefined, openLabel: undefined }));
  if (label === undefined) return;
  known.label = label;
  if (isOpen) known.openLabel = label;
}

const NANOSECONDS = 1_000_000;
/** Of the time of a count. */
const HOUR_MAX = 2 ** 31 - 1;

/** Somebody may have changed the text of the time into one that no event is stored with. */
function isTold({ atMs, atNs }: Document): boolean {
  const isWithin = Number.isSafeInteger(atMs) && Math.abs(hourOf(atMs)) <= HOUR_MAX;
  return isWithin && Number.isInteger(atNs) && atNs >= 0 && atNs < NANOSECONDS;
}
