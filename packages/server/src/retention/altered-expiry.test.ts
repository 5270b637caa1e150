// Somebody with rights on the database makes an event look expired: the sweep keeps it, says so, and purges the events around it.
// Through the whole service, on both backends.

import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import type { AuditEvent, HealthReport } from '@tallystick/contract';
import { eventIdBytes } from '@tallystick/evidence';
import { Client } from 'pg';
import { PLATFORM_KEY } from '../testing/admin-caller.ts';
import { type PolicedTenant, policedTenant } from '../testing/policed-tenant.ts';
import { type Databases, openDatabases } from '../testing/postgres-server.ts';
import { contentMonthOf } from '../storage/rows/content-month.ts';
import { openRunningJournal } from '../testing/running-journal.ts';
import { startTestApp, type TestApp } from '../testing/test-app.ts';
import { until } from '../testing/until.ts';

/** Long enough to be signed and copied from, on a busy machine, before it is purged. */
const SHORT = { conditions: { action: 'Delete.Invoice' }, effect: { retentionPeriod: 'PT3S' } };
/** No text decides, so none is read. */
const SHORT_FOR_ALL = { ...SHORT, conditions: {} };
const INVOICE = { action: 'Delete.Invoice' };
const CONTRACT = { action: 'Sign.Contract' };
const KEPT = 'content past its expiry is kept: it does not follow from what has decided about it';
const SETTINGS = {
  TALLYSTICK_ADMIN_KEY: PLATFORM_KEY,
  Retention__SweepInterval: 'PT1S',
  Log__CheckpointInterval: 'PT0.1S',
};
const LONG_AGO_MS = 1000;
/** Where the time of receipt stands in an entry, counted from 1. */
const RECEIVED_FROM = 29;

/** What an intruder does to one event. `other` is the id of one that a short rule has decided about. */
type Forgery = (store: Intruder, eventId: string, other: string) => Promise<void>;

const FORGERIES: Readonly<Record<string, Forgery>> = {
  'its expiry is moved earlier': (store, eventId) => store.setContent(eventId, { expiresAtMs: LONG_AGO_MS }),
  'it has the decision and the expiry of a shorter policy': async (store, eventId, other) => {
    const { decision, expiresAtMs } = await store.contentOf(other);
    await store.setContent(eventId, { decision, expiresAtMs });
  },
  'its text is altered so that a shorter rule matches': async (store, eventId, other) => {
    const { decision, expiresAtMs } = await store.contentOf(other);
    const { text1 } = await store.contentOf(eventId);
    const text = Buffer.from(Buffer.from(text1).toString().replace('Sign.Contract', 'Delete.Invoice'));
    await store.setContent(eventId, { decision, expiresAtMs, text1: text });
  },
  'its entry says that it was received long ago': async (store, eventId) => {
    await store.setReceivedAt(eventId, LONG_AGO_MS);
    await store.setContent(eventId, { expiresAtMs: Date.UTC(1977, 0, 1, 0, 0, 1) });
  },
};

const TRIED: readonly (readonly [what: string, forge: Forgery, rule?: typeof SHORT_FOR_ALL])[] = [
  ...Object.entries(FORGERIES),
  ...['its expiry is moved earlier', 'its entry says that it was received long ago'].map(
    (what) => [`${what}, under a rule for all`, FORGERIES[what]!, SHORT_FOR_ALL] as const,
  ),
];

interface ContentColumns {
  readonly text1: Uint8Array;
  readonly decision: number | bigint | null;
  readonly expiresAtMs: number;
}

interface Intruder {
  contentOf(eventId: string): Promise<ContentColumns>;
  setContent(eventId: string, columns: Partial<ContentColumns>): Promise<void>;
  setReceivedAt(eventId: string, receivedAtMs: number): Promise<void>;
  hasContent(eventId: string): Promise<boolean>;
}

let server: Databases;
before(async () => {
  server = await openDatabases();
});
after(() => server?.[Symbol.asyncDispose]());

interface Backend {
  readonly settings: Readonly<Record<string, string>>;
  readonly intruder: (app: TestApp) => Intruder;
}

const BACKENDS: Readonly<Record<string, () => Promise<Backend>>> = {
  'the embedded store': async () => ({ settings: {}, intruder: intoJournal }),
  PostgreSQL: async () => {
    const url = await server.createDatabase();
    return { settings: { Storage__Url: url }, intruder: () => intoDatabase(url) };
  },
};

// They wait for sweeps, each for what is its tenant's.
for (const [backend, open] of Object.entries(BACKENDS))
  describe(`on ${backend}`, { concurrency: true }, () => {
    let app: TestApp;
    let intruder: Intruder;
    before(async () => {
      const { settings, intruder: into } = await open();
      app = await startTestApp({ ...SETTINGS, ...settings });
      intruder = into(app);
    });
    after(() => app?.[Symbol.asyncDispose]());
    const keptLines = (tenant: string) =>
      app.lines.filter((line) => line['message'] === KEPT && line['tenant'] === tenant);
    const isGone = (eventId: string) => until(async () => !(await intruder.hasContent(eventId)));

    for (const [number, [what, forge, rule = SHORT]] of TRIED.entries())
      test(`an event stays although ${what}, and those around it go`, async () => {
        const name = `forged-${number}`;
        const tenant = policedTenant(app, name);
        await tenant.put('Retention', [rule], 'Short');
        const [before, forged, behind] = await tenant.send(INVOICE, CONTRACT, INVOICE);
        // What is altered before it is signed has the log refused.
        await signed(tenant, behind!);
        await forge(intruder, forged!, behind!);
        await isGone(before!);
        await isGone(behind!);
        await until(async () => keptLines(name).length > 0);
        const { sequence } = await tenant.ask<AuditEvent>('GET', `/audit-events/${behind}`);
        const [line] = keptLines(name);
        assert.deepEqual([line!['level'], line!['index']], ['Error', sequence - 2]);
        assert.equal(await storageStatus(app), 'Degraded');
        const [later] = await tenant.send(INVOICE);
        await isGone(later!);
        assert.equal(await intruder.hasContent(forged!), true);
        assert.equal(keptLines(name).length, 1, 'it is not looked at again at each sweep');
      });
  });

/** Under a checkpoint. */
async function signed(tenant: PolicedTenant, eventId: string): Promise<void> {
  await tenant.ask('GET', `/audit-events/${eventId}/proof`);
}

async function storageStatus(app: TestApp): Promise<string | undefined> {
  const report = (await (await fetch(`${app.url}/api/v1/health`)).json()) as HealthReport;
  return report.entries['storage']?.status;
}

function receivedBytes(receivedAtMs: number): Buffer {
  const bytes = Buffer.alloc(8);
  bytes.writeBigUInt64BE(BigInt(receivedAtMs));
  return bytes;
}

function intoJournal({ dataDirectory }: TestApp): Intruder {
  const row = '(SELECT id FROM entries WHERE event_id = ?)';
  const find = (eventId: string) => {
    using db = openRunningJournal(dataDirectory);
    const found = db.prepare(`SELECT text1, decision, expires_at_ms FROM contents WHERE id = ${row}`);
    found.setReadBigInts(true);
    return found.get(eventIdBytes(eventId));
  };
  return {
    async contentOf(eventId) {
      const { text1, decision, expires_at_ms: expires } = find(eventId)!;
      return { text1: text1 as Uint8Array, decision: decision as bigint, expiresAtMs: Number(expires) };
    },
    async setContent(eventId, { text1 = null, decision, expiresAtMs = null }) {
      using db = openRunningJournal(dataDirectory);
      const set = `text1 = coalesce(?, text1), expires_at_ms = coalesce(?, expires_at_ms), decision = coalesce(?, decision)`;
      const values = [text1, expiresAtMs, decision ?? null, eventIdBytes(eventId)];
      assert.equal(db.prepare(`UPDATE contents SET ${set} WHERE id = ${row}`).run(...values).changes, 1);
    },
    async setReceivedAt(eventId, receivedAtMs) {
      using db = openRunningJournal(dataDirectory);
      const trigger = db.prepare("SELECT sql FROM sqlite_schema WHERE name = 'entries_do_not_change'").get()!;
      db.exec('DROP TRIGGER entries_do_not_change');
      const entry = `CAST(substr(entry, 1, ${RECEIVED_FROM - 1}) || ? || substr(entry, ${RECEIVED_FROM + 8}) AS BLOB)`;
      db.prepare(`UPDATE entries SET entry = ${entry} WHERE event_id = ?`).run(
        receivedBytes(receivedAtMs),
        eventIdBytes(eventId),
      );
      db.exec(String(trigger['sql']));
    },
    hasContent: async (eventId) => find(eventId) !== undefined,
  };
}

function intoDatabase(url: string): Intruder {
  const query = async (text: string, values: readonly unknown[]) => {
    const client = new Client({ connectionString: url });
    await client.connect();
    try {
      return (await client.query<Record<string, unknown>>(text, [...values])).rows;
    } finally {
      await client.end();
    }
  };
  const ofEvent = `(contents.tenant_id, contents.leaf_index) =
    (SELECT tenant_id, leaf_index FROM tallystick.entries WHERE event_id = $1)`;
  const find = (eventId: string) =>
    query(`SELECT text1, decision, expires_at_ms FROM tallystick.contents WHERE ${ofEvent}`, [
      eventIdBytes(eventId),
    ]);
  return {
    async contentOf(eventId) {
      const [row] = await find(eventId);
      const { text1, decision, expires_at_ms: expires } = row!;
      return { text1: text1 as Uint8Array, decision: decision as number, expiresAtMs: Number(expires) };
    },
    async setContent(eventId, { text1 = null, decision = null, expiresAtMs = null }) {
      const id = eventIdBytes(eventId);
      const set = `text1 = coalesce($2, text1), expires_at_ms = coalesce($3, expires_at_ms), decision = coalesce($4, decision),
        content_month = $5`;
      // There are partitions for what expires from now on.
      const month = contentMonthOf(Date.now());
      const values = [id, text1, expiresAtMs, decision, month];
      await query(`UPDATE tallystick.contents SET ${set} WHERE ${ofEvent}`, values);
      await query('UPDATE tallystick.entries SET content_month = $2 WHERE event_id = $1', [id, month]);
    },
    async setReceivedAt(eventId, receivedAtMs) {
      await query(
        `UPDATE tallystick.entries SET entry = overlay(entry PLACING $2 FROM ${RECEIVED_FROM} FOR 8) WHERE event_id = $1`,
        [eventIdBytes(eventId), receivedBytes(receivedAtMs)],
      );
    },
    hasContent: async (eventId) => (await find(eventId)).length > 0,
  };
}
