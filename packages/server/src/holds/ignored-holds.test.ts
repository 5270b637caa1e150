// Somebody takes a hold and its notice out of the database while the service is stopped, has a service that has never seen them
// remove what was held, and puts everything back. No running service can know of it; `tallystick verify` does, by the notices of
// the log.

import assert from 'node:assert/strict';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { after, test } from 'node:test';
import type { LegalHold, Policy } from '@tallystick/contract';
import { checkStore } from '../check-store.ts';
import { JOURNAL_FILE } from '../storage/sqlite/connection/database.ts';
import { IS_HOLD_NOTICE } from '../storage/rows/hold-notices.ts';
import { WITH_PLATFORM_KEY } from '../testing/admin-caller.ts';
import { type PolicedTenant, policedTenant } from '../testing/policed-tenant.ts';
import { startTestApp } from '../testing/test-app.ts';
import { until } from '../testing/until.ts';

const folder = mkdtempSync(join(tmpdir(), 'tallystick-ignored-holds-'));
after(() => rmSync(folder, { recursive: true, force: true }));

const SETTINGS = {
  ...WITH_PLATFORM_KEY,
  Storage__DataDirectory: join(folder, 'data'),
  Retention__SweepInterval: 'PT1S',
  Log__CheckpointInterval: 'PT0.1S',
};
const SHORT = { conditions: {}, effect: { retentionPeriod: 'PT1S' } };
const KEEP = { conditions: {}, effect: { retentionPeriod: 'PT1S', legalHold: true } };
const EVENT = {
  actor: { actorType: 'User', userId: 'u-1', userName: 'Ottokar' },
  payload: { iban: 'DE1', note: 'n' },
};

const place = async (tenant: PolicedTenant, more: object = {}) =>
  (await tenant.ask<LegalHold>('POST', '/legal-holds', { name: 'Case 7', reason: 'r', ...more })).holdId;
const redact = (tenant: PolicedTenant, eventId: string, field: string) =>
  tenant.ask('POST', `/audit-events/${eventId}/redact`, { fields: [field], reason: 'r' });
const isPurged = async (tenant: PolicedTenant, eventId: string) =>
  'purgedAt' in (await tenant.ask<object>('GET', `/audit-events/${eventId}`));

/** What a tenant has before, and what is asked of the service that does not know its hold. */
interface Story {
  readonly prepare: (tenant: PolicedTenant) => Promise<{ readonly holder: string; readonly eventId: string }>;
  readonly remove: (tenant: PolicedTenant, eventId: string) => Promise<unknown>;
  readonly isFound: boolean;
}

const purged: Story['remove'] = (tenant, eventId) => until(() => isPurged(tenant, eventId));
const heldBy =
  (more: object): Story['prepare'] =>
  async (tenant) => {
    const [eventId] = await tenant.send(EVENT);
    const holder = await place(tenant, more);
    // The end of a log is looked at by who appends.
    await tenant.send(EVENT);
    return { holder, eventId: eventId! };
  };
const ofIban = { conditions: { 'payload.iban': 'DE1' } };
const STORIES: Readonly<Record<string, Story>> = {
  'purged-range': {
    prepare: async (tenant) => {
      await tenant.put('Retention', [SHORT]);
      const holder = await place(tenant, { range: { fromSequence: 3, toSequence: 3 } });
      const [eventId] = await tenant.send(EVENT);
      return { holder, eventId: eventId! };
    },
    remove: purged,
    isFound: true,
  },
  // The sweep leaves what was decided by a version that the log does not tell of; what comes after it is decided by the one before.
  'purged-rule': {
    prepare: async (tenant) => {
      const { policyId } = await tenant.put('Retention', [SHORT], 'Keep');
      const body = { name: 'Keep', policyType: 'Retention', rules: [KEEP] };
      await tenant.ask<Policy>('PUT', `/policies/${policyId}`, body);
      const [eventId] = await tenant.send(EVENT);
      return { holder: policyId, eventId: eventId! };
    },
    remove: async (tenant, eventId) => {
      const [probe] = await tenant.send(EVENT);
      await until(() => isPurged(tenant, probe!));
      assert.equal(await isPurged(tenant, eventId), false);
    },
    isFound: true,
  },
  'redacted-whole': {
    prepare: heldBy({}),
    remove: (tenant, eventId) => redact(tenant, eventId, 'payload.iban'),
    isFound: true,
  },
  'redacted-beside': {
    prepare: heldBy(ofIban),
    remove: (tenant, eventId) => redact(tenant, eventId, 'actor.userName'),
    isFound: true,
  },
  // What the hold asked about is gone.
  'redacted-itself': {
    prepare: heldBy(ofIban),
    remove: (tenant, eventId) => redact(tenant, eventId, 'payload.iban'),
    isFound: false,
  },
  'redacted-other': {
    prepare: heldBy({ conditions: { 'resource.resourceType': 'Elsewhere' } }),
    remove: (tenant, eventId) => redact(tenant, eventId, 'payload.iban'),
    isFound: false,
  },
  'redacted-before': {
    prepare: async (tenant) => {
      const [eventId] = await tenant.send(EVENT);
      await redact(tenant, eventId!, 'payload.iban');
      return { holder: await place(tenant), eventId: eventId! };
    },
    remove: async () => {},
    isFound: false,
  },
};

test('a removal that ignored a hold is named by the verifier, as far as what is left tells', async () => {
  const prepared = new Map<string, { readonly holder: string; readonly eventId: string }>();
  {
    await using app = await startTestApp(SETTINGS);
    for (const [name, { prepare }] of Object.entries(STORIES))
      prepared.set(name, await prepare(policedTenant(app, name)));
  }
  const journal = (work: (db: DatabaseSync) => void) => {
    using db = new DatabaseSync(join(SETTINGS.Storage__DataDirectory, JOURNAL_FILE));
    work(db);
  };
  journal((db) => {
    const trigger = db.prepare("SELECT sql FROM sqlite_schema WHERE name = 'entries_do_not_change'").get();
    db.exec('DROP TRIGGER entries_do_not_change');
    db.exec('CREATE TABLE taken AS SELECT * FROM records WHERE false');
    db.exec('CREATE TABLE noticed (id INTEGER, entry BLOB)');
    for (const [tenant, { holder }] of prepared) {
      db.prepare('INSERT INTO taken SELECT * FROM records WHERE id = ?').run(holder);
      db.prepare('DELETE FROM records WHERE id = ?').run(holder);
      db.prepare(
        'INSERT INTO records SELECT * FROM past_records WHERE id = ? ORDER BY version DESC LIMIT 1',
      ).run(holder);
      const { id } = db
        .prepare(
          `SELECT id FROM entries JOIN tenants USING (tenant) WHERE tenant_id = ? AND ${IS_HOLD_NOTICE.SQLite}
           ORDER BY leaf_index DESC LIMIT 1`,
        )
        .get(tenant) as { id: number };
      db.prepare('INSERT INTO noticed SELECT id, entry FROM entries WHERE id = ?').run(id);
      db.prepare(
        `UPDATE entries SET entry = CAST(substr(entry, 1, 16) || x'08' || substr(entry, 18) AS BLOB) WHERE id = ?`,
      ).run(id);
    }
    db.exec(String(trigger?.['sql']));
  });
  {
    await using app = await startTestApp(SETTINGS);
    for (const [name, { remove }] of Object.entries(STORIES))
      await remove(policedTenant(app, name), prepared.get(name)!.eventId);
  }
  journal((db) => {
    const trigger = db.prepare("SELECT sql FROM sqlite_schema WHERE name = 'entries_do_not_change'").get();
    db.exec('DROP TRIGGER entries_do_not_change');
    db.exec('UPDATE entries SET entry = noticed.entry FROM noticed WHERE noticed.id = entries.id');
    db.exec('INSERT OR REPLACE INTO records SELECT * FROM taken');
    db.exec('DROP TABLE taken');
    db.exec('DROP TABLE noticed');
    db.exec(String(trigger?.['sql']));
  });
  const { faults } = await checkStore(SETTINGS.Storage__DataDirectory, { keys: [], seen: [] });
  const found = faults.map(({ tenant, reason, message }) => ({ tenant, reason, message }));
  const names = Object.keys(STORIES).filter((name) => STORIES[name]!.isFound);
  assert.deepEqual(
    found.map(({ tenant, reason }) => `${tenant} ${reason}`).toSorted(),
    names.map((name) => `${name} NOTICE_INVALID`).toSorted(),
  );
  for (const { tenant, message } of found)
    assert.ok(message.includes(prepared.get(tenant!)!.holder), message);
});
