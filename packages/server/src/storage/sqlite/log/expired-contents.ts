// Finds expired content in journal.db: over all logs by the index on expiry, and of one tenant in the order of its log.

import type { DatabaseSync, StatementSync } from 'node:sqlite';
import type { DuePortion, DueStream, ExpiredRun, IndexSpan } from '../../../streams/removal/removal.ts';
import { numberOf, numberOrNone, textIn } from '../../rows/columns.ts';
import { dueStreamsIn, expiredRunIn } from '../../rows/expired-run.ts';

/** Read by one statement, in some ten milliseconds. */
const LOOKED_AT_MAX = 5000;
/** To look at so many takes as long as a portion of the log. */
const FEW = 20_000;

export class ExpiredContents {
  readonly #due: StatementSync;
  readonly #expired: StatementSync;
  readonly #few: StatementSync;
  readonly #fewSpan: StatementSync;
  readonly #last: StatementSync;

  constructor(db: DatabaseSync) {
    // Behind the pair (?2, ?3). The LEFT JOIN keeps a content without an entry, so that the walk gets beyond it.
    this.#due = db.prepare(
      `SELECT due.expires_at_ms, due.id, tenant_id, leaf_index,
         (SELECT max(first_index) FROM streams WHERE streams.tenant = entries.tenant AND first_index <= leaf_index)
           AS stream_first_index
       FROM (SELECT id, expires_at_ms FROM contents WHERE expires_at_ms <= ?1 AND (expires_at_ms, id) > (?2, ?3)
         ORDER BY expires_at_ms, id LIMIT ${LOOKED_AT_MAX}) AS due
       LEFT JOIN entries ON entries.id = due.id LEFT JOIN tenants ON tenants.tenant = entries.tenant
       ORDER BY due.expires_at_ms, due.id`,
    );
    // The index of entries leads to contents, so entries themselves are not read.
    this.#expired = db.prepare(
      `SELECT min(leaf_index) AS first_index, max(leaf_index) + 1 AS end_index,
         (SELECT body FROM decisions WHERE decisions.tenant = ?1 AND decisions.decision = run.decision) AS decided_by
       FROM (SELECT leaf_index, decision, leaf_index - row_number() OVER (PARTITION BY decision ORDER BY leaf_index) AS nth
         FROM entries CROSS JOIN contents ON contents.id = entries.id
         WHERE entries.tenant = ?1 AND leaf_index >= ?2 AND leaf_index < ?3 AND expires_at_ms <= ?4) AS run
       GROUP BY decision, nth ORDER BY first_index`,
    );
    this.#few = db.prepare(
      `SELECT count(*) AS count FROM (SELECT 1 FROM contents WHERE expires_at_ms <= ? LIMIT ${FEW})`,
    );
    this.#fewSpan = db.prepare(
      `SELECT min(leaf_index) AS first_index, max(leaf_index) AS last_index
       FROM contents INDEXED BY contents_by_expiry CROSS JOIN entries ON entries.id = contents.id
       WHERE entries.tenant = ?1 AND expires_at_ms <= ?2`,
    );
    this.#last = db.prepare(
      'SELECT 0 AS first_index, max(leaf_index) AS last_index FROM entries WHERE tenant = ?',
    );
  }

  /** If few of all logs have expired, these are looked at; else the span is the whole log. */
  expirySpan(tenant: number, untilMs: number): IndexSpan | undefined {
    const areFew = numberOf(this.#few.get(untilMs), 'count') < FEW;
    const row = areFew ? this.#fewSpan.get(tenant, untilMs) : this.#last.get(tenant);
    const lastIndex = numberOrNone(row ?? {}, 'last_index');
    if (lastIndex === undefined) return undefined;
    return { firstIndex: numberOf(row, 'first_index'), endIndex: lastIndex + 1 };
  }

  dueStreams(untilMs: number, from: string | undefined): DuePortion {
    const [ms = -1, id = 0] = from?.split(' ').map(Number) ?? [];
    const rows = this.#due.all(untilMs, ms, id);
    const found: DueStream[] = rows.flatMap((row) => {
      const stream = numberOrNone(row, 'stream_first_index');
      if (stream === undefined) return [];
      const index = numberOf(row, 'leaf_index');
      const span = { firstIndex: index, endIndex: index + 1 };
      return { tenant: textIn(row, 'tenant_id'), streamFirstIndex: stream, span };
    });
    const last = rows.length < LOOKED_AT_MAX ? undefined : rows.at(-1);
    return {
      due: dueStreamsIn(found),
      next: last && `${numberOf(last, 'expires_at_ms')} ${numberOf(last, 'id')}`,
    };
  }

  expired(tenant: number, { firstIndex, endIndex }: IndexSpan, untilMs: number): ExpiredRun[] {
    return this.#expired.all(tenant, firstIndex, endIndex, untilMs).map(expiredRunIn);
  }
}
