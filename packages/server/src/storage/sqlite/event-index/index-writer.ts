// Writes events into a view: its rows, its words and its counts. It is called inside a transaction, which makes all of
// it, and how far the view has come, one commit.

import type { DatabaseSync, StatementSync } from 'node:sqlite';
import { eventIdBytes } from '@tallystick/evidence';
import type { QueriedEvent } from '../../../query/queried-event.ts';
import { numberOf } from '../../rows/columns.ts';
import { CLASSIFICATIONS } from '../../rows/classification-column.ts';
import { Counts } from './counts.ts';
import { documentOf } from '../../event-index/document.ts';
import { Keys } from './keys.ts';
import { KINDS } from '../../event-index/index-columns.ts';
import { hourOf } from '../../event-index/time-span.ts';
import type { OpenView } from './views.ts';

/** An event and where it stands. */
export interface LoggedEvent {
  /** Its row in journal.db. */
  readonly entry: number;
  /** In the tenant's sequence. */
  readonly index: number;
  readonly event: QueriedEvent;
}

export class IndexWriter {
  readonly #insertDoc: StatementSync;
  readonly #insertWords: StatementSync;
  readonly #lastDoc: StatementSync;
  readonly #docOf: StatementSync;
  readonly #keys: Keys;
  readonly #counts: Counts;
  #nextDoc: number | undefined;

  constructor(db: DatabaseSync) {
    this.#insertDoc = db.prepare(
      `INSERT INTO docs (doc, view, entry, leaf_index, event_id, at_ms, at_ns, classification, kind, outcome,
                         actor_type, action, actor, resource_type)
       VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
    );
    this.#insertWords = db.prepare(
      'INSERT INTO words (rowid, facets, facts, public, internal, confidential, secret) VALUES (?, ?, ?, ?, ?, ?, ?)',
    );
    // Asked only of an event that was set aside, so it is worth no index of its own.
    this.#docOf = db.prepare('SELECT doc FROM docs INDEXED BY docs_by_time WHERE view = ? AND entry = ?');
    this.#lastDoc = db.prepare('SELECT coalesce(max(doc), 0) AS doc FROM docs');
    this.#keys = new Keys(db);
    this.#counts = new Counts(db);
  }

  has(view: number, { entry }: Pick<LoggedEvent, 'entry'>): boolean {
    return this.#docOf.get(view, entry) !== undefined;
  }

  add({ view, terms }: OpenView, { entry, index, event }: LoggedEvent): void {
    const document = documentOf(event, terms);
    const { atMs, atNs, outcome, actorType } = document;
    if (!Number.isSafeInteger(atMs)) throw new Error(`the time ${event.timestamp} cannot be told`);
    const classification = CLASSIFICATIONS.indexOf(event.classification);
    const kind = KINDS.indexOf(event.kind);
    const isOpen = event.classification !== 'Secret';
    const action = this.#keys.of(view, 'action', event.action);
    const actor = this.#keys.of(view, 'actor', document.actor, document.actorLabel, isOpen);
    const resourceType = this.#keys.of(view, 'resourceType', event.resource.resourceType);
    const doc = this.#takeDoc();
    this.#insertDoc.run(
      doc,
      view,
      entry,
      index,
      eventIdBytes(event.eventId),
      atMs,
      atNs,
      classification,
      kind,
      outcome,
      actorType,
      action,
      actor,
      resourceType,
    );
    const content = CLASSIFICATIONS.map((each) => (each === document.contentClass ? document.content : ''));
    this.#insertWords.run(doc, document.facets, document.facts, ...content);
    this.#counts.count({
      view,
      hour: hourOf(atMs),
      classification,
      kind,
      values: { all: 0, action, actor, resourceType, actorType, outcome },
    });
  }

  /** The end of the transaction. */
  finish(): void {
    this.#counts.write();
  }

  /** What a transaction that failed would have left. */
  forget(): void {
    this.#counts.forget();
    this.#keys.forget();
    this.#nextDoc = undefined;
  }

  #takeDoc(): number {
    this.#nextDoc ??= numberOf(this.#lastDoc.get(), 'doc') + 1;
    return this.#nextDoc++;
  }
}
