// Finds expired content in the database. Content lies in the partition of the month in which it expires, so that only the
// partitions up to the current month are looked at, and there the rows of one tenant by their key: no index on expiry has to be
// kept up to date by every append.

import type { TenantId } from '@tallystick/contract';
import type { DuePortion, DueStream, ExpiredRun, IndexSpan } from '../../../streams/removal/removal.ts';
import { numberOf, numberOrNone, textIn } from '../../rows/columns.ts';
import { dueStreamsIn, expiredRunIn } from '../../rows/expired-run.ts';
import { ALL_TENANTS, type Database, type Row, statement } from '../connection/database.ts';
import type { HeldShares } from '../nodes/held-shares.ts';
import { contentMonthOf } from '../../rows/content-month.ts';
import { readerOf } from '../tree/tree-tables.ts';

const LOOKED_AT_MAX = 200;
/** The entries of one statement. */
const PORTION = 5000;

const NOW = statement('SELECT (extract(epoch FROM clock_timestamp()) * 1000)::bigint AS now');

/** The first and the last content that may have expired. */
const mayBeDue = (order: string) =>
  `LEFT JOIN LATERAL (SELECT leaf_index FROM contents WHERE contents.tenant_id = heads.tenant_id
     AND content_month BETWEEN 1 AND $2 ORDER BY leaf_index ${order} LIMIT 1)`;
const MAY_BE_DUE = statement(
  `SELECT heads.tenant_id, a.leaf_index AS first_index, b.leaf_index AS last_index
   FROM heads ${mayBeDue('ASC')} AS a ON true ${mayBeDue('DESC')} AS b ON true
   WHERE heads.tenant_id > $1 AND ($3::smallint[] IS NULL OR heads.share = ANY ($3))
   ORDER BY heads.tenant_id LIMIT ${LOOKED_AT_MAX}`,
);
const SPAN = statement(
  `SELECT a.leaf_index AS first_index, b.leaf_index AS last_index
   FROM heads ${mayBeDue('ASC')} AS a ON true ${mayBeDue('DESC')} AS b ON true WHERE heads.tenant_id = $1`,
);
const EXPIRED = `contents.tenant_id = $1 AND content_month BETWEEN 1 AND $5
  AND leaf_index >= $2 AND leaf_index < $3 AND expires_at_ms <= $4`;
const DUE = statement(
  `SELECT stream_first_index, min(leaf_index) AS first_index, max(leaf_index) + 1 AS end_index
   FROM (SELECT leaf_index, (SELECT max(first_index) FROM streams
       WHERE streams.tenant_id = $1 AND first_index <= leaf_index) AS stream_first_index
     FROM contents WHERE ${EXPIRED}) AS due
   WHERE stream_first_index IS NOT NULL GROUP BY stream_first_index`,
);
const RUNS = statement(
  `SELECT min(leaf_index) AS first_index, max(leaf_index) + 1 AS end_index,
     (SELECT body FROM decisions WHERE decisions.tenant_id = $1 AND decisions.decision = run.decision) AS decided_by
   FROM (SELECT leaf_index, decision, leaf_index - row_number() OVER (PARTITION BY decision ORDER BY leaf_index) AS nth
     FROM contents WHERE ${EXPIRED}) AS run
   GROUP BY decision, nth ORDER BY first_index`,
);

export class ExpiredContents {
  readonly #database: Database;
  readonly #held: HeldShares;

  constructor(database: Database, held: HeldShares) {
    this.#database = database;
    this.#held = held;
  }

  async nowMs(): Promise<number> {
    const [row] = await this.#database.read(ALL_TENANTS, NOW);
    return numberOf(row, 'now');
  }

  /** A portion is of some tenants. */
  async dueStreams(untilMs: number, from = ''): Promise<DuePortion> {
    const month = contentMonthOf(untilMs);
    const rows = await this.#database.read(ALL_TENANTS, MAY_BE_DUE, [from, month, this.#held.list()]);
    const found: DueStream[] = [];
    for (const row of rows) {
      const span = spanIn(row);
      if (span === undefined) continue;
      found.push(...(await this.#dueIn(textIn(row, 'tenant_id'), span, untilMs)));
    }
    const next = rows.length < LOOKED_AT_MAX ? undefined : textIn(rows.at(-1), 'tenant_id');
    return { due: dueStreamsIn(found), next };
  }

  async expirySpan(tenant: TenantId, untilMs: number): Promise<IndexSpan | undefined> {
    const [row] = await this.#database.read(readerOf(tenant), SPAN, [tenant, contentMonthOf(untilMs)]);
    return row && spanIn(row);
  }

  async expired(
    tenant: TenantId,
    { firstIndex, endIndex }: IndexSpan,
    untilMs: number,
  ): Promise<ExpiredRun[]> {
    const values = [tenant, firstIndex, endIndex, untilMs, contentMonthOf(untilMs)];
    return (await this.#database.read(readerOf(tenant), RUNS, values)).map(expiredRunIn);
  }

  async #dueIn(tenant: TenantId, span: IndexSpan, untilMs: number): Promise<DueStream[]> {
    const found: DueStream[] = [];
    for (let from = span.firstIndex; from < span.endIndex; from += PORTION) {
      const end = Math.min(span.endIndex, from + PORTION);
      const values = [tenant, from, end, untilMs, contentMonthOf(untilMs)];
      for (const row of await this.#database.read(readerOf(tenant), DUE, values)) {
        const due = { firstIndex: numberOf(row, 'first_index'), endIndex: numberOf(row, 'end_index') };
        found.push({ tenant, streamFirstIndex: numberOf(row, 'stream_first_index'), span: due });
      }
    }
    return dueStreamsIn(found);
  }
}

function spanIn(row: Row): IndexSpan | undefined {
  const firstIndex = numberOrNone(row, 'first_index');
  return firstIndex === undefined ? undefined : { firstIndex, endIndex: numberOf(row, 'last_index') + 1 };
}
