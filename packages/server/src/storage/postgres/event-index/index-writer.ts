// Writes events into a view: their docs, their keys and their counts. It is called inside a transaction that has locked the
// view, which makes all of it, and how far the view has come, one commit. Docs are written by one statement for many, keys
// and counts by one for all of a portion.

import { eventIdBytes } from '@tallystick/evidence';
import type { QueriedEvent } from '../../../query/queried-event.ts';
import { CountTally } from '../../event-index/count-tally.ts';
import { type Document, documentOf } from '../../event-index/document.ts';
import { KEY_KINDS, type KeyKind, KINDS, SPANS } from '../../event-index/index-columns.ts';
import { hourOf } from '../../event-index/time-span.ts';
import { CLASSIFICATIONS } from '../../rows/classification-column.ts';
import { bigints, integers, smallints, texts } from '../binary-arrays.ts';
import { statement, type Transaction, type Value } from '../database.ts';
import { DocColumns } from './doc-columns.ts';
import type { OpenView } from './views.ts';

// What is inserted is joined with the head of the tenant: a distributed database sees by it that all is on one machine.
const INSERT_DOCS = statement(
  `INSERT INTO docs (tenant_id, generation, leaf_index, event_id, at_ms, at_ns, classification, kind, outcome,
                     actor_type, action, actor, resource_type, terms)
   SELECT heads.tenant_id, $2, new.*
   FROM heads, unnest($3::bigint[], $4::bytea[], $5::bigint[], $6::integer[], $7::smallint[], $8::smallint[],
                      $9::smallint[], $10::smallint[], $11::text[], $12::text[], $13::text[], $14::tsvector[]) AS new
   WHERE heads.tenant_id = $1`,
);
// Mostly they are there already and say the same: those are not even locked. Each is looked up by itself, which OFFSET makes
// sure of: a join would go through all that the view knows as long as the database does not know how many these are.
const INSERT_KEYS = statement(
  `INSERT INTO view_keys (tenant_id, generation, kind, text, label, open_label)
   SELECT heads.tenant_id, $2, new.kind, new.text, new.label, new.open_label
   FROM heads CROSS JOIN unnest($3::smallint[], $4::text[], $5::text[], $6::text[]) AS new (kind, text, label, open_label)
   WHERE heads.tenant_id = $1 AND NOT EXISTS (SELECT 1 FROM view_keys AS known
     WHERE known.tenant_id = heads.tenant_id AND known.generation = $2 AND known.kind = new.kind AND known.text = new.text
       AND coalesce(new.label = known.label, new.label IS NULL)
       AND coalesce(new.open_label = known.open_label, new.open_label IS NULL) OFFSET 0)
   ON CONFLICT (tenant_id, generation, kind, text) DO UPDATE
     SET label = coalesce(excluded.label, view_keys.label),
         open_label = coalesce(excluded.open_label, view_keys.open_label)`,
);
const ADD_COUNTS = statement(
  `INSERT INTO view_counts (tenant_id, generation, span, time, classification, kind, counted, value, count)
   SELECT heads.tenant_id, $2, span, time, classification, kind, counted, value, count
   FROM heads, unnest($3::smallint[], $4::integer[], $5::smallint[], $6::smallint[], $7::smallint[], $8::text[], $9::bigint[])
     AS new (span, time, classification, kind, counted, value, count)
   WHERE heads.tenant_id = $1
   ON CONFLICT (tenant_id, generation, counted, span, time, classification, kind, value)
     DO UPDATE SET count = view_counts.count + excluded.count`,
);
const ADD_LARGE = statement(
  'UPDATE views SET large_docs = large_docs + $3 WHERE tenant_id = $1 AND generation = $2',
);

interface Label {
  label: string | undefined;
  openLabel: string | undefined;
}

/** What is to be written into one view. */
export class WrittenPortion {
  readonly #view: OpenView;
  #docs = new DocColumns();
  #isEmpty = true;
  readonly #keys = new Map<KeyKind, Map<string, Label>>(KEY_KINDS.map((kind) => [kind, new Map()]));
  readonly #tally = new CountTally<string>();
  #large = 0;

  constructor(view: OpenView) {
    this.#view = view;
  }

  /** Throws, and leaves nothing, if it cannot be indexed. */
  add(index: number, event: QueriedEvent): void {
    const { terms } = this.#view;
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
    const doc = { index, eventId, document, classification, kind, action, resourceType };
    if (this.#docs.add(doc, terms.prefix)) this.#large++;
    this.#isEmpty = false;
    this.#key('action', action);
    this.#key('resourceType', resourceType);
    this.#key('actor', actor, document.actorLabel, event.classification !== 'Secret');
    const values = {
      all: '',
      action,
      actor,
      resourceType,
      actorType: String(actorType),
      outcome: String(outcome),
    };
    this.#tally.count({ view: 0, hour: hourOf(atMs), classification, kind, values });
  }

  /** The docs that were added since the last time. They are known by all that follows in the transaction. */
  writeDocs(transaction: Transaction): Promise<unknown> {
    const docs = this.#docs;
    if (docs.isEmpty) return Promise.resolve();
    this.#docs = new DocColumns();
    return transaction.query(INSERT_DOCS, [...this.#own, ...docs.take()]);
  }

  /** All that is not written yet. */
  async write(transaction: Transaction): Promise<void> {
    if (this.#isEmpty) return;
    await Promise.all([
      this.writeDocs(transaction),
      transaction.query(INSERT_KEYS, [...this.#own, ...this.#keyColumns()]),
      transaction.query(ADD_COUNTS, [...this.#own, ...this.#countColumns()]),
      ...(this.#large === 0 ? [] : [transaction.query(ADD_LARGE, [...this.#own, this.#large])]),
    ]);
  }

  get #own(): readonly Value[] {
    return [this.#view.tenant, this.#view.generation];
  }

  /** `isOpen`: everybody may know of the event that has the label. */
  #key(kind: KeyKind, text: string, label?: string, isOpen = true): void {
    const keys = this.#keys.get(kind)!;
    let known = keys.get(text);
    if (known === undefined) keys.set(text, (known = { label: undefined, openLabel: undefined }));
    if (label === undefined) return;
    known.label = label;
    if (isOpen) known.openLabel = label;
  }

  #keyColumns(): Uint8Array[] {
    const rows = KEY_KINDS.flatMap((kind, place) =>
      [...this.#keys.get(kind)!].map(([text, label]) => ({ place, text, ...label })),
    );
    return [
      smallints(rows.map(({ place }) => place)),
      texts(rows.map(({ text }) => text)),
      texts(rows.map(({ label }) => label ?? null)),
      texts(rows.map(({ openLabel }) => openLabel ?? null)),
    ];
  }

  #countColumns(): Uint8Array[] {
    // In the order of the columns.
    const numbers: [number[], number[], number[], number[], number[]] = [[], [], [], [], []];
    const [spans, times, classes, kinds, counteds] = numbers;
    const values: string[] = [];
    const numbersOfEvents: number[] = [];
    this.#tally.take(({ span, time, classification, kind }, counted, counts) => {
      for (const [value, count] of counts) {
        const row = [SPANS.indexOf(span), time, classification, kind, counted];
        for (const [i, number] of row.entries()) numbers[i]!.push(number);
        values.push(value);
        numbersOfEvents.push(count);
      }
    });
    return [
      smallints(spans),
      integers(times),
      ...[classes, kinds, counteds].map(smallints),
      texts(values),
      bigints(numbersOfEvents),
    ];
  }
}

const NANOSECONDS = 1_000_000;
/** Of the time of a count. */
const HOUR_MAX = 2 ** 31 - 1;

/** Somebody may have changed the text of the time into one that no event is stored with. */
function isTold({ atMs, atNs }: Document): boolean {
  const isWithin = Number.isSafeInteger(atMs) && Math.abs(hourOf(atMs)) <= HOUR_MAX;
  return isWithin && Number.isInteger(atNs) && atNs >= 0 && atNs < NANOSECONDS;
}
