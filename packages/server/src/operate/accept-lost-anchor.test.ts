// A store with all that can happen to one, whose anchor is lost as a whole or in part: what a start refuses, and what it
// serves once that is accepted.

import assert from 'node:assert/strict';
import { readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { INSTALLATION } from '@tallystick/evidence';
import { checkStore } from '../check-store.ts';
import { StartError } from '../start-error.ts';
import { openOwnAnchor, readAnchorAt } from '../storage/anchor/file-anchor.ts';
import type { AnchoredHead } from '../streams/anchor/anchor.ts';
import { adminCaller } from '../testing/admin-caller.ts';
import { EVENT } from '../testing/bound-operations.ts';
import { type LivedInStore, livedInStore, TENANTS } from '../testing/lived-in-store.ts';
import type { TestApp } from '../testing/test-app.ts';
import { openRecovery } from './recover.ts';

let made: LivedInStore;
before(async () => {
  made = await livedInStore();
});
after(() => made?.[Symbol.dispose]());

const anchorOf = ({ directory }: LivedInStore) => join(directory, 'anchor');

/** The anchor with these heads alone. */
async function anchorOnly(store: LivedInStore, keeps: (head: AnchoredHead) => boolean): Promise<void> {
  const heads = [...(await readAnchorAt(store.directory)).heads().values()].filter(keeps);
  rmSync(anchorOf(store));
  await using anchor = await openOwnAnchor(store.directory);
  await anchor.append(heads);
}

async function isServed(app: TestApp, tenant: string): Promise<boolean> {
  const { code } = await adminCaller(app, tenant).post('/api/v1/audit-events', EVENT);
  assert.match(code, /^(201|503 SERVICE_UNAVAILABLE)$/);
  return code === '201';
}

async function servedBy(app: TestApp): Promise<string[]> {
  const served: string[] = [];
  for (const tenant of TENANTS) if (await isServed(app, tenant)) served.push(tenant);
  return served;
}

async function accept(store: LivedInStore) {
  await using recovery = await openRecovery(store.config());
  const { accepted, without } = await recovery.acceptLostAnchor();
  return { accepted: accepted.map(({ tenant }) => tenant), without: [...without.keys()] };
}

/** By tenant, where its newest log says that the anchor was lost. */
async function verifiedLosses({ directory }: LivedInStore): Promise<Record<string, number[]>> {
  const { faults, tenants } = await checkStore(directory, { keys: [], seen: [] });
  assert.deepEqual(faults, []);
  return Object.fromEntries(
    tenants.map(({ tenant, logs }) => [
      tenant,
      logs.at(-1)!.anchorLosses.map(({ signedSize }) => signedSize),
    ]),
  );
}

function isLost(error: unknown): boolean {
  assert.ok(error instanceof StartError, String(error));
  assert.match(error.message, /^the anchor in \S+ knows none of the logs that were signed, [^\n]*$/);
  return true;
}

describe('a store without its anchor', () => {
  it('is served once every log has its notice, also one that went on after a restore', async () => {
    using store = made.clone();
    const before = (await readAnchorAt(store.directory)).heads();
    rmSync(anchorOf(store));
    for (const _ of ['first', 'second']) await assert.rejects(store.start(), isLost);
    assert.deepEqual(await accept(store), { accepted: [INSTALLATION, ...TENANTS], without: [] });
    const losses = await verifiedLosses(store);
    for (const tenant of ['beta', 'gamma']) {
      const { size } = before.get(`audit.example.com/t/${tenant}`)!;
      assert.deepEqual(losses[tenant], [size]);
    }
    const heads = [...(await readAnchorAt(store.directory)).heads().values()];
    assert.deepEqual(
      heads.toSorted((a, b) => (a.origin < b.origin ? -1 : 1)),
      [...before.values()].toSorted((a, b) => (a.origin < b.origin ? -1 : 1)),
      'what the store knew is all that was anchored, of logs that are over too',
    );
    {
      await using app = await store.start();
      assert.deepEqual(await servedBy(app), [...TENANTS]);
    }
    assert.deepEqual(await verifiedLosses(store), losses);
    assert.deepEqual(
      await accept(store),
      { accepted: [], without: [] },
      'there is nothing to accept any more',
    );
  });

  it('is still refused where a crash came before the anchor, and gets there when asked again', async () => {
    using store = made.clone();
    rmSync(anchorOf(store));
    await accept(store);
    writeFileSync(anchorOf(store), 'tallystick-anchor/1\n');
    await assert.rejects(store.start(), isLost);
    assert.deepEqual((await accept(store)).accepted, [INSTALLATION, ...TENANTS]);
    const { beta } = await verifiedLosses(store);
    assert.deepEqual([beta?.length, new Set(beta).size], [2, 1], 'said twice, of the same checkpoint');
    await using app = await store.start();
    assert.deepEqual(await servedBy(app), [...TENANTS]);
  });

  it('does not take over keys that were planted as those of an older version', async () => {
    using store = made.clone();
    rmSync(anchorOf(store));
    const own = "tenant = (SELECT tenant FROM tenants WHERE tenant_id = '*')";
    store.alter(
      `DROP TRIGGER entries_stay;
       DELETE FROM contents WHERE id IN (SELECT id FROM entries WHERE ${own});
       DELETE FROM entries WHERE ${own}; DELETE FROM streams WHERE ${own};
       DELETE FROM checkpoints WHERE ${own}; DELETE FROM records WHERE ${own};
       INSERT INTO api_keys (key_id, tenant_id, name, roles, scopes, hash, created_at_ms, created_by)
       VALUES ('01KE0000000000000000000042', '*', 'x', 'Admin', '', zeroblob(32), 0, 'x')`,
    );
    await accept(store);
    await using app = await store.start();
    const { code } = await adminCaller(app, 'acme').get('/api/v1/admin/api-keys/01KE0000000000000000000042');
    assert.equal(code, '404 KEY_NOT_FOUND');
  });

  it('keeps a log refused whose checkpoint is not that of its entries, and goes on with the others', async () => {
    using store = made.clone();
    rmSync(anchorOf(store));
    store.alter(
      `UPDATE tile_hashes SET hash = zeroblob(32)
       WHERE tenant = (SELECT tenant FROM tenants WHERE tenant_id = 'beta')`,
    );
    const others = TENANTS.filter((tenant) => tenant !== 'beta');
    assert.deepEqual(await accept(store), { accepted: [INSTALLATION, ...others], without: ['beta'] });
    await using app = await store.start();
    assert.deepEqual(await servedBy(app), others);
  });
});

describe('a store without its anchor in which checkpoints were altered', () => {
  const acme = "(SELECT tenant FROM tenants WHERE tenant_id = 'acme')";
  const newestOfFirst = `tenant = ${acme} AND epoch = 0 ORDER BY size DESC LIMIT 1`;

  for (const [what, sql] of [
    [
      'a signature',
      `UPDATE checkpoints SET note = substr(note, 1, length(note) - 20) || 'AAAA' || substr(note, -16)
       WHERE rowid_of_newest`,
    ],
    [
      'a size',
      `UPDATE checkpoints SET note = replace(note, char(10) || size || char(10), char(10) || (size + 1) || char(10))
       WHERE rowid_of_newest`,
    ],
  ] as const) {
    it(`anchors nothing of a log whose older checkpoint has ${what} changed`, async () => {
      using store = made.clone();
      rmSync(anchorOf(store));
      const newest = `(tenant, epoch, size) IN (SELECT tenant, epoch, size FROM checkpoints WHERE ${newestOfFirst})`;
      store.alter(sql.replace('rowid_of_newest', newest));
      const others = TENANTS.filter((tenant) => tenant !== 'acme');
      assert.deepEqual(await accept(store), { accepted: [INSTALLATION, ...others], without: ['acme'] });
      const origins = [...(await readAnchorAt(store.directory)).heads().keys()];
      assert.ok(!origins.some((origin) => origin.includes('/t/acme')), origins.join());
    });
  }
});

describe('a store whose anchor knows less than was signed', () => {
  it('has the logs refused that are missing from it, and no others, until that is accepted', async () => {
    using store = made.clone();
    await anchorOnly(store, ({ origin }) => !/\/t\/acme\/1$|\/t\/gamma$/.test(origin));
    const others = TENANTS.filter((tenant) => !['acme', 'gamma'].includes(tenant));
    for (const _ of ['first', 'second']) {
      await using app = await store.start();
      assert.deepEqual(await servedBy(app), others);
    }
    assert.deepEqual(await accept(store), { accepted: ['acme', 'gamma'], without: [] });
    const losses = await verifiedLosses(store);
    assert.deepEqual([losses['acme']?.length, losses['beta'], losses['gamma']?.length], [1, [], 1]);
    await using app = await store.start();
    assert.deepEqual(await servedBy(app), [...TENANTS]);
  });

  it('has a log refused of which it is an earlier state', async () => {
    using store = made.clone();
    const earlier = readFileSync(anchorOf(store));
    {
      await using app = await store.start();
      const beta = adminCaller(app, 'beta');
      const { text } = await beta.post('/api/v1/audit-events', EVENT);
      const { eventId } = JSON.parse(text) as { eventId: string };
      assert.equal((await beta.get(`/api/v1/audit-events/${eventId}/proof`)).code, '200');
    }
    writeFileSync(anchorOf(store), earlier);
    {
      await using app = await store.start();
      assert.deepEqual(
        await servedBy(app),
        TENANTS.filter((tenant) => tenant !== 'beta'),
      );
    }
    assert.deepEqual(await accept(store), { accepted: ['beta'], without: [] });
    await using app = await store.start();
    assert.ok(await isServed(app, 'beta'));
  });
});
