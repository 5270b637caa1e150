// The log as it lies in journal.db, read and checked without any code of the service: by SQLite and SHA-256 alone.

import assert from 'node:assert/strict';
import { hash } from 'node:crypto';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { recomputed } from './recompute.ts';

export interface EventInLog {
  readonly eventId: string;
  readonly index: number;
  /** 1 for an event, more for a notice. */
  readonly kind: number;
  readonly receivedAtMs: number;
  /** The texts of its two groups. */
  readonly texts: readonly [string, string];
  readonly row: LogRow;
}

/** As it is stored. */
export interface LogRow {
  readonly tenant_id: string;
  readonly leaf_index: number;
  readonly entry: Uint8Array;
  readonly leaf: Uint8Array;
  readonly root1: Uint8Array;
  readonly root2: Uint8Array;
  readonly text1: Uint8Array;
  readonly text2: Uint8Array;
  readonly seeds: Uint8Array;
}

/**
 * All events by tenant, or those of one tenant; throws when a sequence has a gap, a chain a break, or a hash does not
 * fit what is stored.
 */
export function readLog(dataDirectory: string, tenant?: string): Map<string, EventInLog[]> {
  using database = closing(new DatabaseSync(join(dataDirectory, 'journal.db'), { readOnly: true }));
  // One state of all tables, also while the service runs.
  database.at.exec('BEGIN');
  const { origin } = database.at
    .prepare(`SELECT value AS origin FROM meta WHERE name = 'log_origin'`)
    .get() as unknown as { origin: string };
  const rows = database.at
    .prepare(
      `SELECT tenant_id, leaf_index, entry, leaf, root1, root2, text1, text2, seeds FROM entries
       JOIN tenants USING (tenant) LEFT JOIN contents USING (id)
       WHERE ?1 IS NULL OR tenant_id = ?1 ORDER BY tenant_id, leaf_index`,
    )
    .all(tenant ?? null) as unknown as LogRow[];
  return checkedLog(rows, origin, (tenantId) =>
    database.at
      .prepare(
        `SELECT first_index FROM streams JOIN tenants USING (tenant) WHERE tenant_id = ? ORDER BY first_index`,
      )
      .all(tenantId)
      .map((row) => Number(row['first_index'])),
  );
}

/** Of rows in order of tenant and index. `streamsOf` gives where the streams of a tenant begin. */
export function checkedLog(
  rows: readonly LogRow[],
  origin: string,
  streamsOf: (tenantId: string) => readonly number[],
): Map<string, EventInLog[]> {
  const log = new Map<string, EventInLog[]>();
  let before: LogRow | undefined;
  for (const row of rows) {
    if (row.tenant_id !== before?.tenant_id) before = undefined;
    const events = log.get(row.tenant_id) ?? [];
    log.set(row.tenant_id, events);
    events.push(checked(row, before, origin));
    before = row;
  }
  for (const [tenantId, events] of log) demandStreams(streamsOf(tenantId), tenantId, events);
  return log;
}

const EVENT = 1;
const STREAM_SEAL = 8;

/** The events of a tenant's log without the notices that the service puts between them. */
export function eventsOf(dataDirectory: string, tenant: string): EventInLog[] {
  return (readLog(dataDirectory).get(tenant) ?? []).filter(({ kind }) => kind === EVENT);
}

/** Streams begin at 0 and behind each seal, and nowhere else. */
function demandStreams(begin: readonly number[], tenantId: string, events: readonly EventInLog[]): void {
  const sealed = events.filter(({ kind }) => kind === STREAM_SEAL).map(({ index }) => index + 1);
  assert.deepEqual(begin, [0, ...sealed], `${tenantId}: streams`);
}

function checked(row: LogRow, before: LogRow | undefined, origin: string): EventInLog {
  const entry = Buffer.from(row.entry);
  const index = Number(entry.readBigUInt64BE(20));
  const where = `${row.tenant_id} at ${row.leaf_index}`;
  assert.equal(row.leaf_index, before === undefined ? 0 : before.leaf_index + 1, `${where}: gap`);
  assert.equal(index, row.leaf_index, `${where}: index in the entry`);
  const previous =
    before === undefined
      ? hash('sha256', Buffer.from(`audit-trail/g1\n\0${origin}/${logName(row.tenant_id)}`), 'hex')
      : Buffer.from(before.leaf).toString('hex');
  assert.equal(entry.toString('hex', 52, 84), previous, `${where}: chain`);
  const leaf = hash('sha256', Buffer.concat([Buffer.from([0]), entry]), 'hex');
  assert.equal(Buffer.from(row.leaf).toString('hex'), leaf, `${where}: leaf`);
  const receivedAtMs = Number(entry.readBigUInt64BE(28));
  if (before !== undefined) {
    assert.ok(receivedAtMs >= Number(Buffer.from(before.entry).readBigUInt64BE(28)), `${where}: time`);
  }
  const texts = [Buffer.from(row.text1).toString(), Buffer.from(row.text2).toString()] as const;
  const { roots, content } = recomputed(texts, row.seeds);
  assert.equal(Buffer.compare(row.root1, roots[0]), 0, `${where}: root of group 1`);
  assert.equal(Buffer.compare(row.root2, roots[1]), 0, `${where}: root of group 2`);
  assert.equal(Buffer.compare(entry.subarray(84), content), 0, `${where}: content`);
  return { eventId: ulid(entry.subarray(36, 52)), index, kind: entry[16]!, receivedAtMs, texts, row };
}

/** The installation has a log too. */
function logName(tenantId: string): string {
  return tenantId === '*' ? 'installation' : `t/${tenantId}`;
}

/** How often each marker of the tests' events is in the log. */
export function markersIn(log: ReadonlyMap<string, readonly EventInLog[]>): Map<string, number> {
  const counts = new Map<string, number>();
  for (const { texts } of [...log.values()].flat()) {
    const { payload } = JSON.parse(texts[1]) as { payload?: { marker?: string } };
    const marker = payload?.marker;
    if (marker !== undefined) counts.set(marker, (counts.get(marker) ?? 0) + 1);
  }
  return counts;
}

const ALPHABET = '0123456789ABCDEFGHJKMNPQRSTVWXYZ';

function ulid(bytes: Uint8Array): string {
  let number = BigInt(`0x${Buffer.from(bytes).toString('hex')}`);
  let text = '';
  for (let i = 0; i < 26; i++) {
    text = ALPHABET[Number(number & 31n)]! + text;
    number >>= 5n;
  }
  return text;
}

function closing(at: DatabaseSync): Disposable & { readonly at: DatabaseSync } {
  return { at, [Symbol.dispose]: () => at.close() };
}
