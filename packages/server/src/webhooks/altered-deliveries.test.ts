// An event that somebody alters in the store is told to nobody, and holds up none of those behind it.

import assert from 'node:assert/strict';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { test } from 'node:test';
import type { Recovery } from '@tallystick/contract';
import { alteredEvents, ROW } from '../testing/altered-events.ts';
import { Consumer } from '../testing/consumer.ts';
import { consuming, eventIn } from '../testing/consuming.ts';
import { DELIVERING } from '../testing/delivering-app.ts';
import { policedTenant } from '../testing/policed-tenant.ts';
import { startTestApp } from '../testing/test-app.ts';
import { until } from '../testing/until.ts';

const entries = (set: string) => `UPDATE entries SET ${set} WHERE event_id = ?`;

const CHANGES: Readonly<Record<string, string>> = {
  'an entry that ends behind its id': entries('entry = substr(entry, 1, 52)'),
  'facts that are no JSON': `UPDATE contents SET text1 = x'7b' WHERE id = ${ROW}`,
};

/** The notifier goes through the log once more. */
function takeAgain(folder: string, tenant: string): void {
  using work = new DatabaseSync(join(folder, 'work.db'));
  const { changes } = work
    .prepare(`UPDATE positions SET next_index = 0 WHERE tenant_id = ? AND name = 'Notifications'`)
    .run(tenant);
  assert.equal(changes, 1);
}

for (const [i, [what, change]] of Object.entries(CHANGES).entries())
  test(`${what}: what comes behind it is delivered, and can be recovered`, async () => {
    const folder = mkdtempSync(join(tmpdir(), 'tallystick-altered-'));
    const settings = { ...DELIVERING, Storage__DataDirectory: folder };
    await using consumer = await Consumer.start();
    try {
      const name = `altered-${i}`;
      const before = async () => {
        await using app = await startTestApp(settings);
        const { tenant, path } = await consuming(app, name, consumer);
        const ids = await tenant.send({}, {}, {});
        await consumer.gotMany(3);
        // The signer detects a change that is made before it has signed: the log is refused.
        await tenant.ask('GET', `/audit-events/${ids[2]}/proof`);
        alteredEvents(app).change(ids[1]!, change);
        return { ids, path };
      };
      const sent = await before();
      takeAgain(folder, name);
      await using app = await startTestApp(settings);
      const tenant = policedTenant(app, name);
      const [later] = await tenant.send({});
      await consumer.gotMany(4);
      assert.equal(eventIn(consumer.got[3]!).eventId, later);
      await tenant.ask<Recovery>('POST', `${sent.path}/recover`, { since: '2020-01-01T00:00:00Z' });
      const [last] = await tenant.send({});
      const told = () => new Set(consumer.got.map((got) => eventIn(got).eventId));
      await until(() => told().has(last!));
      assert.deepEqual(told(), new Set([...sent.ids, later, last]));
    } finally {
      rmSync(folder, { recursive: true, force: true });
    }
  });
