// The removed spans and events with their notices: writes belong to the transaction of a pool, readers of events use the reads, and
// content is deleted in a role that can do nothing else.

import type { TenantId } from '@tallystick/contract';
import { KIND_AT, KINDS } from '@tallystick/evidence';
import type { Deletion, IndexSpan, RedactedEvent } from '../../../streams/removal/removal.ts';
import type { RemovalTables } from '../../removal.ts';
import { numberOf, textIn } from '../../rows/columns.ts';
import { deletionIn } from '../../rows/deletion-row.ts';
import { type Purge, purgeIn } from '../../rows/purge-notice.ts';
import { Nonces } from '../../sealing/boxes.ts';
import { puncturedContent } from '../../sealing/reseal.ts';
import { SEALED_COLUMNS, type SealedRows } from '../../sealing/sealed-rows.ts';
import { TAKE_BLOCK } from '../append/pool-keys.ts';
import { type Redaction, redactionIn } from '../../rows/redaction-notice.ts';
import { noticesNamedBy } from '../../rows/removed-rows.ts';
import { StoredContents } from '../../rows/stored-content.ts';
import type { Statements } from '../connection/by-tenant.ts';
import {
  type Database,
  type Row,
  type Statement,
  statement,
  type Transaction,
} from '../connection/database.ts';
import { ExpiredContents } from './expired-contents.ts';
import type { HeldShares } from '../nodes/held-shares.ts';
import { contentMonthOf } from '../../rows/content-month.ts';
import { CHECKED_COLUMNS, ENTRIES_WITH_CONTENTS } from './log-columns.ts';
import { readerOf, singleStatements } from '../tree/tree-tables.ts';

const NOTICES = statement(
  `SELECT ${CHECKED_COLUMNS} FROM ${ENTRIES_WITH_CONTENTS}
   WHERE entries.tenant_id = $1 AND entries.leaf_index = ANY ($2::bigint[])`,
);
/** Spans do not overlap: the search begins at the last one that begins before the span. */
export const OVERLAPPING = statement(
  `SELECT first_index, end_index, notice_index FROM deletions
   WHERE tenant_id = $1 AND first_index < $3 AND end_index > $2 AND first_index >= coalesce(
     (SELECT max(first_index) FROM deletions WHERE tenant_id = $1 AND first_index <= $2), $2)
   ORDER BY first_index LIMIT $4`,
);
// Joined with the head: see pool-statements.ts.
const PUT = statement(
  `INSERT INTO deletions (tenant_id, first_index, end_index, notice_index)
   SELECT heads.tenant_id, first_index, end_index, notice_index
   FROM heads, unnest($2::bigint[], $3::bigint[], $4::bigint[]) AS span (first_index, end_index, notice_index)
   WHERE heads.tenant_id = $1`,
);
const PUT_REDACTIONS = statement(
  `INSERT INTO redactions (tenant_id, leaf_index, notice_index)
   SELECT heads.tenant_id, leaf_index, notice_index
   FROM heads, unnest($2::bigint[], $3::bigint[]) AS redacted (leaf_index, notice_index)
   WHERE heads.tenant_id = $1`,
);
const IS_EVENT = `get_byte(entry, ${KIND_AT}) = ${KINDS.event}`;
/** The events of a span. */
export const OF_SPAN = `entries.tenant_id = $1 AND entries.leaf_index >= $2 AND entries.leaf_index < $3 AND ${IS_EVENT}`;
const COUNT = statement(
  `SELECT count(contents.leaf_index) AS count FROM ${ENTRIES_WITH_CONTENTS} WHERE ${OF_SPAN}`,
);
/** The events of a span in runs that follow each other and have their content in one partition. */
const EVENTS = statement(
  `SELECT content_month, min(leaf_index) AS first_index, max(leaf_index) + 1 AS end_index
   FROM (SELECT leaf_index, content_month,
       leaf_index - row_number() OVER (PARTITION BY content_month ORDER BY leaf_index) AS run
     FROM entries WHERE ${OF_SPAN}) AS event
   GROUP BY content_month, run`,
);
/** Deletes from one partition. */
const DELETE = statement(
  'DELETE FROM contents WHERE tenant_id = $1 AND content_month = $2 AND leaf_index = ANY ($3::bigint[])',
);

/** Unless the stream is open: then events may follow. */
const MARK = statement(
  `UPDATE streams SET purged_at_ms = $3 WHERE tenant_id = $1 AND first_index = $2 AND purged_at_ms IS NULL
     AND EXISTS (SELECT 1 FROM streams AS next WHERE next.tenant_id = $1 AND next.first_index > $2)`,
);
const DROP_MONTH = statement('SELECT drop_content_month($1) AS dropped');
/** The current month and the one before it stay: a node whose clock is behind may still write to them. */
const PAST_MONTHS = 2;

/** The contents of events at these indexes, locked until they are rewritten. */
const TO_PUNCTURE = statement(
  `SELECT entries.leaf_index, entries.content_month, entry, text1, text2, seeds, closed,
     ${SEALED_COLUMNS.PostgreSQL}
   FROM entries JOIN contents ON contents.tenant_id = entries.tenant_id AND contents.leaf_index = entries.leaf_index
     AND contents.content_month = entries.content_month
   WHERE entries.tenant_id = $1 AND entries.leaf_index = $2 AND ${IS_EVENT}
   FOR UPDATE OF contents`,
);
const KEYS_OF = statement(
  `SELECT DISTINCT key_id FROM ${ENTRIES_WITH_CONTENTS}
   WHERE entries.tenant_id = $1 AND entries.leaf_index = ANY ($2::bigint[]) AND key_id IS NOT NULL ORDER BY key_id`,
);
const PUNCTURE = statement(
  `UPDATE contents SET text1 = $4, text2 = $5, seeds = $6, closed = $7, sent_fingerprint = NULL
   WHERE tenant_id = $1 AND leaf_index = $2 AND content_month = $3`,
);

/** The rows of the notices that may be about these rows. */
export async function noticesFor(
  statements: Statements,
  tenant: TenantId,
  rows: readonly Row[],
): Promise<Row[]> {
  const named = noticesNamedBy(rows);
  return named.length === 0 ? [] : statements.query(NOTICES, [tenant, named]);
}

/** Those of the entries at these indexes that are notices which remove content, and match their hashes. */
export async function removalsAt(
  statements: Statements,
  tenant: TenantId,
  noticeIndexes: readonly number[],
): Promise<(Purge | Redaction)[]> {
  if (noticeIndexes.length === 0) return [];
  const rows = await statements.query(NOTICES, [tenant, noticeIndexes]);
  const contents = new StoredContents();
  return rows.flatMap((row) => purgeIn(row, contents) ?? redactionIn(row, contents) ?? []);
}

/** Deletions that the purge notices of a pool may overlap, once its logs are locked; lookups see earlier writes. */
export class DeletionRows {
  readonly #there = new Map<TenantId, Deletion[]>();
  readonly #put = new Map<TenantId, Deletion[]>();
  readonly #redactions = new Map<TenantId, RedactedEvent[]>();

  /** Loads all that overlap a span. */
  async load(transaction: Transaction, tenant: TenantId, { firstIndex, endIndex }: IndexSpan): Promise<void> {
    const rows = await transaction.query(OVERLAPPING, [tenant, firstIndex, endIndex, null]);
    this.#there.set(tenant, [...(this.#there.get(tenant) ?? []), ...rows.map(deletionIn)]);
  }

  overlaps(tenant: TenantId, { firstIndex, endIndex }: IndexSpan): boolean {
    const known = [...(this.#there.get(tenant) ?? []), ...(this.#put.get(tenant) ?? [])];
    return known.some((other) => other.firstIndex < endIndex && firstIndex < other.endIndex);
  }

  put(tenant: TenantId, deletion: Deletion): void {
    this.#put.set(tenant, [...(this.#put.get(tenant) ?? []), deletion]);
  }

  putRedaction(tenant: TenantId, redaction: RedactedEvent): void {
    this.#redactions.set(tenant, [...(this.#redactions.get(tenant) ?? []), redaction]);
  }

  async write(transaction: Transaction): Promise<void> {
    for (const [tenant, all] of this.#redactions)
      await transaction.change(PUT_REDACTIONS, [
        tenant,
        all.map(({ index }) => index),
        all.map(({ noticeIndex }) => noticeIndex),
      ]);
    for (const [tenant, all] of this.#put)
      await transaction.change(PUT, [
        tenant,
        all.map(({ firstIndex }) => firstIndex),
        all.map(({ endIndex }) => endIndex),
        all.map(({ noticeIndex }) => noticeIndex),
      ]);
  }
}

export function removalTables(database: Database, held: HeldShares, sealed: SealedRows): RemovalTables {
  const statementsFor = (tenant: TenantId) => singleStatements(database, readerOf(tenant));
  const contents = new ExpiredContents(database, held);
  const ofRetention = (tenants: readonly TenantId[]) => ({ role: 'Retention', tenants }) as const;
  return {
    nowMs: () => contents.nowMs(),
    dueStreams: (untilMs, from) => contents.dueStreams(untilMs, from),
    expirySpan: (tenant, untilMs) => contents.expirySpan(tenant, untilMs),
    expired: (tenant, span, untilMs) => contents.expired(tenant, span, untilMs),
    markPurged: (tenant, streamFirstIndex, nowMs) =>
      database.inTransaction(ofRetention([tenant]), async (transaction) => {
        await transaction.change(MARK, [tenant, streamFirstIndex, nowMs]);
      }),
    async reclaimSpace(nowMs) {
      const past = contentMonthOf(nowMs) - PAST_MONTHS;
      const [row] = await database.inTransaction(ofRetention([]), (transaction) =>
        transaction.query(DROP_MONTH, [past]),
      );
      return row?.['dropped'] === true;
    },
    async deletions(tenant, { firstIndex, endIndex }, limit) {
      const rows = await statementsFor(tenant).query(OVERLAPPING, [tenant, firstIndex, endIndex, limit]);
      return rows.map(deletionIn);
    },
    countContents: (tenant, spans) =>
      database.inOneState(readerOf(tenant), async (transaction) => {
        const rows = await rowsOf(transaction, COUNT, tenant, spans);
        return rows.reduce((sum, row) => sum + numberOf(row, 'count'), 0);
      }),
    async purge(tenant, noticeIndex) {
      const [row] = await statementsFor(tenant).query(NOTICES, [tenant, [noticeIndex]]);
      return purgeIn(row, new StoredContents());
    },
    async redactions(tenant, noticeIndexes) {
      const found = await removalsAt(statementsFor(tenant), tenant, noticeIndexes);
      return found.filter((removal) => 'tags' in removal);
    },
    async punctureContents(tenant, redactions) {
      const nonces = await noncesFor(database, tenant, redactions);
      const resealing = { sealed, nonces };
      await database.inTransaction({ role: 'Retention', tenants: [tenant] }, async (transaction) => {
        for (const redaction of redactions) {
          const [row] = await transaction.query(TO_PUNCTURE, [tenant, redaction.index]);
          const left = row && puncturedContent(row, redaction, resealing);
          if (left === undefined) continue;
          const { text1, text2, seeds, closed } = left;
          const place = [tenant, redaction.index, numberOf(row, 'content_month')];
          await transaction.change(PUNCTURE, [...place, text1, text2, seeds, closed]);
        }
      });
    },
    // The database frees the space of what was there before: see docs/operating/postgres.md.
    eraseTraces: async () => {},
    deleteContents: (tenant, spans) =>
      database.inTransaction(ofRetention([tenant]), async (transaction) => {
        const runs = await rowsOf(transaction, EVENTS, tenant, spans);
        for (const [month, own] of Map.groupBy(runs, (row) => numberOf(row, 'content_month')))
          await transaction.change(DELETE, [tenant, month, own.flatMap(indexesOf)]);
      }),
  };
}

function indexesOf(run: Row): number[] {
  const firstIndex = numberOf(run, 'first_index');
  return Array.from({ length: numberOf(run, 'end_index') - firstIndex }, (_, i) => firstIndex + i);
}

/** New nonces for the keys that have sealed these contents, in a commit of their own. */
async function noncesFor(
  database: Database,
  tenant: TenantId,
  redactions: readonly Redaction[],
): Promise<Map<string, Nonces>> {
  const indexes = redactions.map(({ index }) => index);
  return database.inTransaction({ role: 'Writer', tenants: [tenant] }, async (transaction) => {
    const nonces = new Map<string, Nonces>();
    for (const row of await transaction.query(KEYS_OF, [tenant, indexes])) {
      const keyId = textIn(row, 'key_id');
      const [taken] = await transaction.query(TAKE_BLOCK, [tenant, keyId]);
      nonces.set(keyId, new Nonces(numberOf(taken, 'block')));
    }
    return nonces;
  });
}

/** Span by span, sent without waiting in between: a join might scan all entries of the tenant. */
async function rowsOf(
  transaction: Transaction,
  statements: Statement,
  tenant: TenantId,
  spans: readonly IndexSpan[],
): Promise<Row[]> {
  const found = await Promise.all(
    spans.map(({ firstIndex, endIndex }) => transaction.query(statements, [tenant, firstIndex, endIndex])),
  );
  return found.flat();
}
