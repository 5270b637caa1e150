// Writes events into a view: their docs, their keys and their counts. It is called inside a transaction that has locked the
// view, which makes all of it, and how far the view has come, one commit. A portion is written by one statement for each
// table, however many events it has.

import { eventIdBytes } from '@tallystick/evidence';
import type { QueriedEvent } from '../../../query/queried-event.ts';
import { CountTally } from '../../event-index/count-tally.ts';
import { documentOf } from '../../event-index/document.ts';
import { KEY_KINDS, type KeyKind, KINDS, SPANS } from '../../event-index/index-columns.ts';
import { hourOf } from '../../event-index/time-span.ts';
import { CLASSIFICATIONS } from '../../rows/classification-column.ts';
import { statement, type Transaction, type Value } from '../database.ts';
import { BETWEEN_VECTORS, termVectorOf } from './term-vector.ts';
import type { OpenView } from './views.ts';

const INSERT_DOCS = statement(
  `INSERT INTO docs (tenant_id, generation, leaf_index, event_id, at_ms, at_ns, classification, kind, outcome,
                     actor_type, action, actor, resource_type, terms)
   SELECT $1, $2, leaf_index, event_id, at_ms, at_ns, classification, kind, outcome, actor_type, action, actor,
          resource_type, terms::tsvector
   FROM unnest($3::bigint[], $4::bytea[], $5::bigint[], $6::integer[], $7::smallint[], $8::smallint[], $9::smallint[],
               $10::smallint[], $11::text[], $12::text[], $13::text[],
               string_to_array($14, '${BETWEEN_VECTORS}'))
     AS new (leaf_index, event_id, at_ms, at_ns, classification, kind, outcome, actor_type, action, actor,
             resource_type, terms)`,
);
// Mostly they are there already and say the same: those are not even locked.
const INSERT_KEYS = statement(
  `INSERT INTO view_keys (tenant_id, generation, kind, text, label, open_label)
   SELECT $1, $2, new.kind, new.text, new.label, new.open_label
   FROM unnest($3::smallint[], $4::text[], $5::text[], $6::text[]) AS new (kind, text, label, open_label)
   LEFT JOIN view_keys AS known ON known.tenant_id = $1 AND known.generation = $2
     AND known.kind = new.kind AND known.text = new.text
   WHERE known.text IS NULL OR new.label <> known.label OR new.open_label <> known.open_label
     OR new.label IS NOT NULL AND known.label IS NULL OR new.open_label IS NOT NULL AND known.open_label IS NULL
   ON CONFLICT (tenant_id, generation, kind, text) DO UPDATE
     SET label = coalesce(excluded.label, view_keys.label),
         open_label = coalesce(excluded.open_label, view_keys.open_label)`,
);
const ADD_COUNTS = statement(
  `INSERT INTO view_counts (tenant_id, generation, span, time, classification, kind, counted, value, count)
   SELECT $1, $2, span, time, classification, kind, counted, value, count
   FROM unnest($3::smallint[], $4::integer[], $5::smallint[], $6::smallint[], $7::smallint[], $8::text[], $9::bigint[])
     AS new (span, time, classification, kind, counted, value, count)
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
  readonly #docs: Value[][] = [];
  /** In one piece, which is sent several times as fast as a list of them. */
  readonly #vectors: string[] = [];
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
    const { atMs, atNs, outcome, actorType, actor } = document;
    if (!Number.isSafeInteger(atMs)) throw new Error(`the time ${event.timestamp} cannot be told`);
    const { text, isLarge } = termVectorOf(document, terms.prefix);
    const { action } = event;
    const { resourceType } = event.resource;
    const classification = CLASSIFICATIONS.indexOf(event.classification);
    const kind = KINDS.indexOf(event.kind);
    const eventId = eventIdBytes(event.eventId);
    this.#docs.push([
      index,
      eventId,
      atMs,
      atNs,
      classification,
      kind,
      outcome,
      actorType,
      action,
      actor,
      resourceType,
    ]);
    this.#vectors.push(text);
    if (isLarge) this.#large++;
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

  async write(transaction: Transaction): Promise<void> {
    if (this.#docs.length === 0) return;
    const { tenant, generation } = this.#view;
    const own: readonly Value[] = [tenant, generation];
    await Promise.all([
      transaction.query(INSERT_DOCS, [...own, ...columnsOf(this.#docs), this.#vectors.join(BETWEEN_VECTORS)]),
      transaction.query(INSERT_KEYS, [...own, ...columnsOf(this.#keyRows())]),
      transaction.query(ADD_COUNTS, [...own, ...columnsOf(this.#countRows())]),
      ...(this.#large === 0 ? [] : [transaction.query(ADD_LARGE, [...own, this.#large])]),
    ]);
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

  /** In one order, whoever writes. */
  #keyRows(): Value[][] {
    return KEY_KINDS.flatMap((kind, place) =>
      [...this.#keys.get(kind)!].map(([text, { label, openLabel }]) => [
        place,
        text,
        label ?? null,
        openLabel ?? null,
      ]),
    );
  }

  #countRows(): Value[][] {
    const rows: Value[][] = [];
    this.#tally.take(({ span, time, classification, kind }, counted, counts) => {
      for (const [value, count] of counts)
        rows.push([SPANS.indexOf(span), time, classification, kind, counted, value, count]);
    });
    return rows;
  }
}

/** A list of values for each column. There is a row. */
function columnsOf(rows: readonly (readonly Value[])[]): Value[] {
  return rows[0]!.map((_, column) => rows.map((row) => row[column]!));
}
