// The log as the index reads it from PostgreSQL.

import type { TenantId } from '@tallystick/contract';
import type { QueriedEvent } from '../../../query/queried-event.ts';
import type { StoredEvent } from '../../../streams/log.ts';
import {
  eventStillIn,
  leafIn,
  loggedEvent,
  missingAt,
  NOWHERE,
  redactionsOf,
  removedBy,
  withDeletedUnits,
} from '../../event-index/logged-event.ts';
import { decisionIn, DecisionTexts } from '../../event-index/decision-texts.ts';
import { KnownRemovals, removalOf } from '../../event-index/known-removals.ts';
import {
  type IndexedLog,
  type LogBehind,
  type LoggedEvent,
  READ_BYTES_MAX,
  type ReadTogether,
  type Removal,
} from '../../event-index/store/segment-store.ts';
import { blobOf, numberOf, textIn } from '../../rows/columns.ts';
import { StoredEvents } from '../../rows/event-row.ts';
import { SEALED_COLUMNS, SealedRows } from '../../sealing/sealed-rows.ts';
import type { Statements } from '../connection/by-tenant.ts';
import { type Row, statement } from '../connection/database.ts';
import { eventsInTurns } from '../connection/paused-reads.ts';
import { noticesFor, OVERLAPPING, removalsAt } from '../log/deletions.ts';
import { REDACTION_NOTICES, WITH_CONTENTS } from '../log/log-columns.ts';
import { HeldShares } from '../nodes/held-shares.ts';
import { BYTES, rowsAt, textOf } from './logged-events.ts';
import type { TenantReads } from './tenant-reads.ts';

/** How many logs are found at once; the others come in the next turn. */
const BEHIND_MAX = 1000;
const PORTION = 2048;
/** Of those who see all. */
const ANY_TENANT = '';

const HEAD = statement('SELECT next_index FROM heads WHERE tenant_id = $1');
const LEAVES = statement(
  'SELECT leaf_index, leaf FROM entries WHERE tenant_id = $1 AND leaf_index = ANY ($2::bigint[])',
);
const SECRETS = statement(
  `SELECT index_key, key_id, sealed FROM tenants LEFT JOIN tenant_keys
     ON tenant_keys.tenant_id = tenants.tenant_id AND purpose = 'Tenant' AND state <> 'Destroyed'
   WHERE tenants.tenant_id = $1 ORDER BY state <> 'Open', key_id DESC`,
);
// In any order, so that no tenant waits for ever behind the same others.
const BEHIND = statement(
  `SELECT heads.tenant_id, heads.next_index
   FROM heads LEFT JOIN index_manifests ON index_manifests.tenant_id = heads.tenant_id
   WHERE heads.next_index - coalesce(end_index, 0) >= $1 AND ($2::smallint[] IS NULL OR heads.share = ANY($2))
   ORDER BY random() LIMIT ${BEHIND_MAX}`,
);
const NOTICES_SINCE = statement(
  `SELECT notice_index FROM deletions WHERE tenant_id = $1 AND notice_index >= $2
   UNION SELECT notice_index FROM redactions WHERE tenant_id = $1 AND notice_index >= $2 ORDER BY notice_index`,
);
// What comes before so many bytes are together; the first one always does.
const BETWEEN = statement(
  `SELECT * FROM (
     SELECT entries.leaf_index, leaf, entry, text1, text2, seeds, closed, ${SEALED_COLUMNS.PostgreSQL}, decision, ${REDACTION_NOTICES},
       ${BYTES} AS bytes, sum(${BYTES}) OVER w AS taken
     FROM (SELECT * FROM entries WHERE tenant_id = $1 AND leaf_index >= $2 AND leaf_index < $3
       ORDER BY leaf_index LIMIT ${PORTION}) AS entries ${WITH_CONTENTS}
     WINDOW w AS (ORDER BY entries.leaf_index)
   ) AS portion WHERE taken - bytes < $4 ORDER BY leaf_index`,
);
const DECISIONS = statement(
  'SELECT decision, body FROM decisions WHERE tenant_id = $1 AND decision = ANY ($2::bigint[])',
);
// The one that the first of them is in, and those that begin behind it.
const STREAMS = statement(
  `SELECT first_index, stream_id FROM streams WHERE tenant_id = $1 AND first_index < $3
     AND first_index >= coalesce((SELECT max(first_index) FROM streams WHERE tenant_id = $1 AND first_index <= $2), 0)
   ORDER BY first_index`,
);

export class LogEvents implements IndexedLog {
  readonly #reads: TenantReads;
  readonly #held: HeldShares;
  readonly #stored: StoredEvents;
  readonly #sealed: SealedRows;
  readonly #knownRemovals = new KnownRemovals();
  readonly #decisions = new DecisionTexts<TenantId>();

  constructor(reads: TenantReads, held = HeldShares.all(), sealed = new SealedRows(undefined)) {
    this.#stored = new StoredEvents(sealed);
    this.#sealed = sealed;
    this.#reads = reads;
    this.#held = held;
  }

  async behind(events: number): Promise<LogBehind[]> {
    const rows = await this.#reads.query(ANY_TENANT, BEHIND, [events, this.#held.list()]);
    return rows.map((row) => ({
      tenant: textIn(row, 'tenant_id'),
      head: numberOf(row, 'next_index'),
    }));
  }

  async head(tenant: TenantId): Promise<number> {
    const [row] = await this.#reads.query(tenant, HEAD, [tenant]);
    return row === undefined ? 0 : numberOf(row, 'next_index');
  }

  async removedSince(tenant: TenantId, noticeIndex: number): Promise<Removal[]> {
    const rows = await this.#reads.query(tenant, NOTICES_SINCE, [tenant, noticeIndex]);
    const notices = rows.map((row) => numberOf(row, 'notice_index'));
    const known = notices.flatMap((notice) => this.#knownRemovals.of(tenant, notice) ?? []);
    if (known.length === notices.length) return known;
    return this.#reads.inOneState(tenant, (statements) => this.#removals(statements, tenant, notices));
  }

  async #removals(statements: Statements, tenant: TenantId, notices: readonly number[]): Promise<Removal[]> {
    const unknown = notices.filter((notice) => this.#knownRemovals.of(tenant, notice) === undefined);
    const read = (await removalsAt(statements, tenant, unknown)).map(removalOf);
    for (const removal of read) this.#knownRemovals.keep(tenant, removal);
    const byNotice = new Map(read.map((removal) => [removal.noticeIndex, removal]));
    // A row without a notice is forged, and ignored.
    return notices.flatMap((notice) => this.#knownRemovals.of(tenant, notice) ?? byNotice.get(notice) ?? []);
  }

  async between(tenant: TenantId, from: number, end: number, bytesMax: number): Promise<LoggedEvent[]> {
    return this.#reads.inOneState(tenant, async (transaction) => {
      const [rows, streams, deletions] = await Promise.all([
        transaction.query(BETWEEN, [tenant, from, end, bytesMax]),
        transaction.query(STREAMS, [tenant, from, end]),
        transaction.query(OVERLAPPING, [tenant, from, end, null]),
      ]);
      const streamOf = streamsIn(streams);
      const notices = new Set(deletions.map((row) => numberOf(row, 'notice_index')));
      const isRemoved = removedBy(await this.#removals(transaction, tenant, [...notices]));
      await this.#readDecisions(transaction, tenant, rows);
      const own = redactionsOf(rows.map((row) => ({ index: NOWHERE, row })));
      const redactions = await this.#removals(transaction, tenant, own);
      const events: LoggedEvent[] = [];
      for (const row of rows) {
        const index = numberOf(row, 'leaf_index');
        for (let missing = from + events.length; missing < index; missing++) events.push(missingAt(missing));
        const facts = { leaf: leafIn(row), bytes: numberOf(row, 'bytes') };
        const decided_by = this.#decisions.of(tenant, decisionIn(row));
        const opened = this.#sealed.openTexts(row);
        const texts = { text1: textOf(opened, 'text1'), text2: textOf(opened, 'text2'), decided_by };
        const { entry, redaction_notices } = row;
        const event = { entry, redaction_notices, tenant_id: tenant, stream_id: streamOf(index), ...texts };
        events.push(loggedEvent(withDeletedUnits({ index, row: event }, redactions), facts, isRemoved));
      }
      return events;
    });
  }

  async #readDecisions(statements: Statements, tenant: TenantId, rows: readonly Row[]): Promise<void> {
    const decisions = new Set(rows.flatMap((row) => decisionIn(row) ?? []));
    const unknown = [...decisions].filter((each) => this.#decisions.of(tenant, each) === undefined);
    if (unknown.length === 0) return;
    for (const row of await statements.query(DECISIONS, [tenant, unknown]))
      this.#decisions.keep(tenant, numberOf(row, 'decision'), textIn(row, 'body'));
  }

  async events(tenant: TenantId, indexes: readonly number[]): Promise<ReadTogether<QueriedEvent>> {
    const { rows, readCount, redactions } = await this.#reads.inOneState(tenant, async (transaction) => {
      const read = await rowsAt(transaction, tenant, indexes, READ_BYTES_MAX, this.#sealed);
      const named = redactionsOf(read.rows.map(({ index, stored }) => ({ index, row: stored })));
      return { ...read, redactions: await this.#removals(transaction, tenant, named) };
    });
    const events = new Map<number, QueriedEvent>();
    for (const found of rows) {
      const row = withDeletedUnits(found, redactions);
      const event = eventStillIn(row);
      if (event !== undefined) events.set(row.index, event);
    }
    return { events, readCount };
  }

  async stored(tenant: TenantId, indexes: readonly number[]): Promise<ReadTogether<StoredEvent>> {
    return this.#reads.inOneState(tenant, async (transaction) => {
      const { rows, readCount } = await rowsAt(transaction, tenant, indexes, READ_BYTES_MAX, this.#sealed);
      const asStored = rows.map((row) => row.stored);
      const notices = await noticesFor(transaction, tenant, asStored);
      const stored = await eventsInTurns(this.#stored, asStored, notices);
      return { events: new Map(rows.map(({ index }, i) => [index, stored[i]!])), readCount };
    });
  }

  async leaves(tenant: TenantId, indexes: readonly number[]): Promise<(Uint8Array | undefined)[]> {
    const rows = await this.#reads.query(tenant, LEAVES, [tenant, indexes]);
    const leaves = new Map(rows.map((row) => [numberOf(row, 'leaf_index'), leafIn(row)]));
    return indexes.map((index) => leaves.get(index));
  }

  async secrets(tenant: TenantId): Promise<[own: Uint8Array, ...sealed: Uint8Array[]]> {
    const rows = await this.#reads.query(tenant, SECRETS, [tenant]);
    const own = blobOf(rows[0], 'index_key');
    return [
      own,
      ...this.#sealed.indexSecrets(
        tenant,
        rows.filter((row) => row['key_id'] !== null),
      ),
    ];
  }
}

/** Which stream an index is in. */
function streamsIn(rows: readonly Row[]): (index: number) => string | null {
  const streams = rows.map((row) => ({
    firstIndex: numberOf(row, 'first_index'),
    streamId: textIn(row, 'stream_id'),
  }));
  return (index) => streams.findLast(({ firstIndex }) => firstIndex <= index)?.streamId ?? null;
}
