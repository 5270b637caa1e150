// Reads of the log: the events that they return match their hashes.

import type { Classification, EventId, OperationName, StreamId, TenantId } from '@tallystick/contract';
import { eventIdBytes } from '@tallystick/evidence';
import type {
  EventsWay,
  LogReader,
  StoredEvent,
  StoredStream,
  StreamState,
  StreamsBeyond,
  TenantLog,
  UsedIdempotencyKey,
} from '../../../streams/log.ts';
import { bitsOf } from '../../rows/classification-column.ts';
import { numberOf } from '../../rows/columns.ts';
import { IS_HOLD_NOTICE } from '../../rows/hold-notices.ts';
import { StoredEvents, textBytesOf } from '../../rows/event-row.ts';
import { statesWanted, streamIn } from '../../rows/stream-row.ts';
import { usedKeyOf } from '../../rows/used-key-row.ts';
import { SealedRows } from '../../sealing/sealed-rows.ts';
import { type Database, type Row, type Statement, statement, type Value } from '../connection/database.ts';
import { noticesFor } from './deletions.ts';
import {
  CHECKED_COLUMNS,
  ENTRIES_WITH_CONTENTS,
  EVENT_ID,
  MAY_BE_SEEN,
  NOTICES_OF_ENTRY,
} from './log-columns.ts';
import { logIn } from './log-row.ts';
import { eventsInTurns } from '../connection/paused-reads.ts';
import { decidedBy } from '../../rows/stored-content.ts';
import { OF_STATES, STREAMS } from './stream-rows.ts';
import { readerOf, singleStatements } from '../tree/tree-tables.ts';

const EVENT_COLUMNS = `${CHECKED_COLUMNS}, ${NOTICES_OF_ENTRY}, ${decidedBy('tenant_id')},
  (SELECT stream_id FROM streams WHERE streams.tenant_id = entries.tenant_id AND first_index <= entries.leaf_index
   ORDER BY first_index DESC LIMIT 1) AS stream_id`;

const EVENT = statement(
  `SELECT ${EVENT_COLUMNS} FROM ${ENTRIES_WITH_CONTENTS}
   WHERE entries.tenant_id = $1 AND ${EVENT_ID} = $2 AND ${MAY_BE_SEEN}`,
);
const inOrder = (order: string) =>
  statement(
    `SELECT ${EVENT_COLUMNS} FROM ${ENTRIES_WITH_CONTENTS}
     WHERE entries.tenant_id = $1 AND entries.leaf_index >= $2 AND entries.leaf_index < $3
     ORDER BY entries.leaf_index ${order} LIMIT $4`,
  );
const EVENTS = inOrder('');
const EVENTS_FROM_END = inOrder('DESC');
export const HOLD_NOTICES = statement(
  `SELECT ${EVENT_COLUMNS} FROM ${ENTRIES_WITH_CONTENTS}
   WHERE entries.tenant_id = $1 AND entries.leaf_index >= $2 AND ${IS_HOLD_NOTICE.PostgreSQL}
   ORDER BY entries.leaf_index LIMIT $3`,
);
const STREAMS_BEFORE = statement(
  `${STREAMS} WHERE this.tenant_id = $1 AND this.first_index < $2 AND ${OF_STATES}
   ORDER BY this.first_index DESC LIMIT $6`,
);
const STREAMS_AFTER = statement(
  `${STREAMS} WHERE this.tenant_id = $1 AND this.first_index > $2 AND ${OF_STATES}
   ORDER BY this.first_index LIMIT $6`,
);
const STREAM = statement(`${STREAMS} WHERE this.tenant_id = $1 AND this.stream_id = $2`);
const STREAM_COUNT = statement(
  'SELECT count(*) AS count, count(purged_at_ms) AS purged FROM streams WHERE tenant_id = $1',
);
const USED_KEY = statement('SELECT * FROM used_keys WHERE tenant_id = $1 AND operation = $2 AND key = $3');

/** The number of events per read: a page of large events is read in portions. */
const PORTION = 100;

export class LogTables implements LogReader {
  readonly #database: Database;
  readonly #logOrigin: string;
  readonly #events: StoredEvents;
  readonly #sealed: SealedRows;

  constructor(database: Database, logOrigin: string, sealed = new SealedRows(undefined)) {
    this.#sealed = sealed;
    this.#events = new StoredEvents(sealed);
    this.#database = database;
    this.#logOrigin = logOrigin;
  }

  forTenant(tenant: TenantId): TenantLog {
    return {
      event: (eventId, visible) => this.#event(tenant, eventId, visible),
      events: (fromIndex, endIndex, limit, way) => this.#run(tenant, fromIndex, endIndex, limit, way),
      holdNotices: (fromIndex, limit) => this.#holdNotices(tenant, fromIndex, limit),
      streams: (beyond, limit, states) => this.#streams(tenant, beyond, limit, states),
      stream: (streamId) => this.#stream(tenant, streamId),
      streamCount: async () => numberOf((await this.#read(tenant, STREAM_COUNT, []))[0], 'count'),
      purgedStreamCount: async () => numberOf((await this.#read(tenant, STREAM_COUNT, []))[0], 'purged'),
      usedKey: (operation, key, steadyNowMs) => this.#usedKey(tenant, operation, key, steadyNowMs),
    };
  }

  async #event(
    tenant: TenantId,
    eventId: EventId,
    visible: readonly Classification[],
  ): Promise<StoredEvent | undefined> {
    const found = await this.#read(tenant, EVENT, [eventIdBytes(eventId), bitsOf(visible)]);
    const rows = found.filter((row) => this.#sealed.mayBeSeen(row, visible));
    return this.#events.of(rows, await this.#notices(tenant, rows))[0];
  }

  async #run(
    tenant: TenantId,
    fromIndex: number,
    endIndex: number,
    limit: number,
    { isFromEnd = false, bytesMax = Number.POSITIVE_INFINITY }: EventsWay = {},
  ): Promise<StoredEvent[]> {
    const taken: Row[] = [];
    let bytes = 0;
    let [from, end] = [fromIndex, endIndex];
    while (taken.length < limit && bytes < bytesMax) {
      const portion = Math.min(PORTION, limit - taken.length);
      const rows = await this.#read(tenant, isFromEnd ? EVENTS_FROM_END : EVENTS, [from, end, portion]);
      for (const row of rows) {
        if (bytes >= bytesMax) break;
        taken.push(row);
        bytes += textBytesOf(row);
      }
      if (rows.length < portion) break;
      const last = numberOf(rows.at(-1), 'leaf_index');
      if (isFromEnd) end = last;
      else from = last + 1;
    }
    return eventsInTurns(this.#events, taken, await this.#notices(tenant, taken));
  }

  async #holdNotices(tenant: TenantId, fromIndex: number, limit: number): Promise<StoredEvent[]> {
    const rows = await this.#read(tenant, HOLD_NOTICES, [fromIndex, limit]);
    return eventsInTurns(this.#events, rows, await this.#notices(tenant, rows));
  }

  async #streams(
    tenant: TenantId,
    beyond: StreamsBeyond,
    limit: number,
    states: readonly StreamState[] | undefined,
  ): Promise<StoredStream[]> {
    const wanted = statesWanted(states);
    const rows =
      'before' in beyond
        ? await this.#read(tenant, STREAMS_BEFORE, [
            beyond.before ?? Number.MAX_SAFE_INTEGER,
            ...wanted,
            limit,
          ])
        : await this.#read(tenant, STREAMS_AFTER, [beyond.after ?? -1, ...wanted, limit]);
    return rows.map((row) => streamIn(row, logIn(row, tenant, this.#logOrigin)));
  }

  async #stream(tenant: TenantId, streamId: StreamId): Promise<StoredStream | undefined> {
    const [row] = await this.#read(tenant, STREAM, [streamId]);
    return row === undefined ? undefined : streamIn(row, logIn(row, tenant, this.#logOrigin));
  }

  async #usedKey(
    tenant: TenantId,
    operation: OperationName,
    key: string,
    steadyNowMs: number,
  ): Promise<UsedIdempotencyKey | undefined> {
    const [row] = await this.#read(tenant, USED_KEY, [operation, key]);
    return usedKeyOf(row, steadyNowMs);
  }

  #notices(tenant: TenantId, rows: readonly Row[]): Promise<Row[]> {
    return noticesFor(singleStatements(this.#database, readerOf(tenant)), tenant, rows);
  }

  #read(tenant: TenantId, statements: Statement, values: readonly Value[]): Promise<Row[]> {
    return this.#database.read(readerOf(tenant), statements, [tenant, ...values]);
  }
}
