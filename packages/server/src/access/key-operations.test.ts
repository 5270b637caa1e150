// Making and rotating API keys by the real service: all of a change is there or nothing of it, and what somebody has put
// into the database past the service does not count.

import assert from 'node:assert/strict';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { DatabaseSync } from 'node:sqlite';
import { test } from 'node:test';
import { parseJson } from '@tallystick/evidence';
import { ask } from '../testing/ask.ts';
import { EVENT } from '../testing/bound-operations.ts';
import { startTestApp, type TestApp } from '../testing/test-app.ts';
import { openRunningJournal } from '../testing/running-journal.ts';
import { hashOfKey } from './api-keys.ts';

const ADMIN_KEY = 'the-platform-key-of-these-tests';
const KEYS = '/admin/api-keys';
const request = { name: 'ci', roles: ['Operator'] };

const post = (app: TestApp, path: string, key: string, body: unknown, idempotencyKey?: string) =>
  ask<Record<string, unknown>>(app, 'POST', `/api/v1${path}`, {
    key,
    tenant: 'acme',
    body,
    headers: { ...(idempotencyKey !== undefined && { 'Idempotency-Key': idempotencyKey }) },
  });

const send = async (app: TestApp, apiKey: unknown) =>
  (await post(app, '/audit-events', String(apiKey), EVENT)).code;

const read = async (app: TestApp, apiKey: unknown) =>
  (await ask(app, 'GET', '/api/v1/audit-events', { key: String(apiKey), tenant: 'acme' })).code;

/** A data directory for several starts, and what is in it. */
function openPlace() {
  const folder = mkdtempSync(join(tmpdir(), 'tallystick-keys-'));
  const directory = join(folder, 'data');
  const inJournal = <T>(work: (db: DatabaseSync) => T): T => {
    using db = openRunningJournal(directory);
    return work(db);
  };
  return {
    start: () => startTestApp({ TALLYSTICK_ADMIN_KEY: ADMIN_KEY, Storage__DataDirectory: directory }),
    inJournal,
    /** From now on no record can be written; everything else can. */
    breakKeys: () =>
      inJournal((db) =>
        db.exec("CREATE TRIGGER cut BEFORE INSERT ON records BEGIN SELECT RAISE(ABORT, 'cut short'); END"),
      ),
    mendKeys: () => inJournal((db) => db.exec('DROP TRIGGER cut')),
    keyIds: (owner = 'acme') =>
      inJournal((db) =>
        db
          .prepare('SELECT id FROM records JOIN tenants USING (tenant) WHERE tenant_id = ? ORDER BY id')
          .all(owner)
          .map((row) => row['id']),
      ),
    /** What the notices in a log say, in order: the act, and the key it was done to. */
    noticed: (owner = 'acme') =>
      inJournal((db) =>
        db
          .prepare(
            `SELECT text2 FROM contents JOIN entries USING (id) JOIN tenants USING (tenant)
             WHERE tenant_id = ? AND instr(text2, 'act') ORDER BY id`,
          )
          .all(owner)
          .map((row) => parseJson(Buffer.from(row['text2'] as Uint8Array).toString()) as Noted)
          .map(({ payload }) => [payload.act, ...payload.subjectIds]),
      ),
    [Symbol.dispose]: () => rmSync(folder, { recursive: true, force: true }),
  };
}

interface Noted {
  readonly payload: { readonly act: string; readonly subjectIds: string[] };
}

test('where a key cannot be made nothing of it is there, and the repeat makes it', async () => {
  using place = openPlace();
  {
    await using app = await place.start();
    place.breakKeys();
    assert.equal((await post(app, KEYS, ADMIN_KEY, request, 'once')).code, '503 SERVICE_UNAVAILABLE');
  }
  assert.deepEqual([place.noticed(), place.keyIds()], [[], []]);
  place.mendKeys();
  await using app = await place.start();
  const made = await post(app, KEYS, ADMIN_KEY, request, 'once');
  assert.deepEqual([made.code, made.body['status']], ['201', 'Active']);
  const { keyId, key: _, ...facts } = made.body;
  assert.equal(await send(app, made.body['key']), '201');
  const other = await post(app, KEYS, ADMIN_KEY, { ...request, roles: ['Admin'] }, 'once');
  assert.equal(other.code, '409 IDEMPOTENCY_KEY_REUSED');
  const again = await post(app, KEYS, ADMIN_KEY, request, 'once');
  assert.deepEqual([again.code, again.body], ['200', { keyId, ...facts }], 'the secret is shown once');
  assert.deepEqual(place.keyIds(), [keyId]);
  assert.deepEqual(place.noticed(), [['KeyCreated', keyId]], 'what was done once is noted once');
});

test('where a rotation cannot be done the old key works on, and the repeat does it', async () => {
  using place = openPlace();
  let old: Record<string, unknown>;
  const rotate = (app: TestApp) =>
    post(app, `${KEYS}/${String(old['keyId'])}/rotate`, ADMIN_KEY, { gracePeriod: 'PT0S' }, 'once');
  {
    await using app = await place.start();
    old = (await post(app, KEYS, ADMIN_KEY, request)).body;
    place.breakKeys();
    assert.equal((await rotate(app)).code, '503 SERVICE_UNAVAILABLE');
    place.mendKeys();
  }
  await using app = await place.start();
  assert.equal(await send(app, old['key']), '201');
  const next = await rotate(app);
  assert.equal(next.code, '201');
  assert.equal(await send(app, next.body['key']), '201');
  assert.equal(await send(app, old['key']), '401 API_KEY_REVOKED');
  const { key: _, ...facts } = next.body;
  const again = await rotate(app);
  assert.deepEqual([again.code, again.body], ['200', facts], 'the secret is shown once');
  assert.deepEqual(place.keyIds(), [old['keyId'], next.body['keyId']]);
  assert.deepEqual(place.noticed(), [
    ['KeyCreated', old['keyId']],
    ['KeyRotated', old['keyId']],
    ['KeyCreated', next.body['keyId']],
  ]);
  const path = `/api/v1${KEYS}/${String(facts['keyId'])}`;
  assert.equal((await ask(app, 'DELETE', path, { key: ADMIN_KEY, tenant: 'acme' })).code, '204');
  assert.deepEqual((await rotate(app)).body, facts, 'as first answered, whatever has become of the key');
});

test('many who make a key under one idempotency key get one key', async () => {
  using place = openPlace();
  await using app = await place.start();
  await post(app, KEYS, ADMIN_KEY, request);
  const answers = await Promise.all(
    Array.from({ length: 8 }, () => post(app, KEYS, ADMIN_KEY, request, 'once')),
  );
  const codes = answers.map(({ code }) => code);
  assert.equal(codes.filter((code) => code === '201').length, 1, codes.join());
  assert.deepEqual(
    codes.filter((code) => !['201', '200', '503 SERVICE_UNAVAILABLE'].includes(code)),
    [],
  );
  assert.equal(place.keyIds().length, 2);
});

test('of many who rotate a key at once, one does', async () => {
  using place = openPlace();
  await using app = await place.start();
  const old = (await post(app, KEYS, ADMIN_KEY, request)).body;
  const path = `${KEYS}/${String(old['keyId'])}/rotate`;
  const answers = await Promise.all(Array.from({ length: 5 }, () => post(app, path, ADMIN_KEY, {})));
  assert.deepEqual(answers.map(({ code }) => code).toSorted(), [
    '201',
    ...Array.from({ length: 4 }, () => '404 KEY_NOT_FOUND'),
  ]);
  assert.equal(place.keyIds().length, 2);
});

test('the changes of platform keys are noticed in the log of the installation', async () => {
  using place = openPlace();
  await using app = await place.start();
  const made = await post(app, KEYS, ADMIN_KEY, { ...request, tenantId: '*' });
  assert.equal(made.code, '201');
  const [first] = place.keyIds('*');
  assert.deepEqual(place.noticed('*'), [
    ['KeyCreated', first],
    ['KeyCreated', made.body['keyId']],
  ]);
  assert.deepEqual(place.keyIds(), []);
});

test('a repeat needs the right to make the key', async () => {
  using place = openPlace();
  await using app = await place.start();
  const limited = await post(app, KEYS, ADMIN_KEY, { name: 'limited', scopes: ['audit:keys'] });
  place.breakKeys();
  assert.equal((await post(app, KEYS, ADMIN_KEY, request, 'once')).code, '503 SERVICE_UNAVAILABLE');
  place.mendKeys();
  const stranger = await post(app, KEYS, String(limited.body['key']), request, 'once');
  assert.equal(stranger.code, '403 FORBIDDEN');
  assert.equal((await post(app, KEYS, ADMIN_KEY, request, 'once')).code, '201');
});

test('a repeat is read as the first request was: null means absent', async () => {
  using place = openPlace();
  await using app = await place.start();
  const withNulls = { ...request, scopes: null, clearance: null, expiresAt: null };
  const made = await post(app, KEYS, ADMIN_KEY, withNulls, 'once');
  assert.deepEqual([made.code, 'expiresAt' in made.body, 'clearance' in made.body], ['201', false, false]);
  assert.equal((await post(app, KEYS, ADMIN_KEY, withNulls, 'once')).code, '200');
  const path = `${KEYS}/${String(made.body['keyId'])}/rotate`;
  const rotation = { gracePeriod: null };
  assert.equal((await post(app, path, ADMIN_KEY, rotation, 'turn')).code, '201');
  assert.equal((await post(app, path, ADMIN_KEY, rotation, 'turn')).code, '200');
});

test('a key that somebody has put into the database does not work, and is told of', async () => {
  using place = openPlace();
  await using app = await place.start();
  const made = (await post(app, KEYS, ADMIN_KEY, request)).body;
  const forgedKey = 'a-key-that-nobody-has-made';
  place.inJournal((db) => {
    // Its hash is right; all else is that of a key which is there.
    db.prepare(
      `INSERT INTO records (tenant, kind, id, version, body, state, lookup, salt, mac)
       SELECT tenant, kind, '01KE0000000000000000000099', version, body, state, ?, salt, mac FROM records WHERE id = ?`,
    ).run(hashOfKey(forgedKey), String(made['keyId']));
    db.exec("UPDATE meta SET value = hex(randomblob(8)) WHERE name = 'records_version'");
  });
  await new Promise((resolve) => setTimeout(resolve, 20));
  assert.equal(await send(app, forgedKey), '401 UNAUTHENTICATED');
  assert.equal(await send(app, made['key']), '201', 'control');
  const told = app.lines.filter(({ message }) => String(message).includes('was not written by this service'));
  assert.equal(told.length, 1, JSON.stringify(app.lines.at(-1)));
});

test('a key that somebody has given another role or owner, or brought back, does not work', async () => {
  using place = openPlace();
  await using app = await place.start();
  const make = async () => (await post(app, KEYS, ADMIN_KEY, { name: 'ci', roles: ['Viewer'] })).body;
  const alterations: [string, string][] = [
    ['body', `replace(body, 'Viewer', 'Admin')`],
    ['state', `'Other'`],
    ['tenant', `(SELECT tenant FROM tenants WHERE tenant_id = '*')`],
    ['version', 'version + 1'],
    ['mac', 'zeroblob(34)'],
  ];
  for (const [column, value] of alterations) {
    const made = await make();
    assert.equal(await read(app, made['key']), '200', column);
    place.inJournal((db) => {
      db.prepare(`UPDATE records SET ${column} = ${value} WHERE id = ?`).run(String(made['keyId']));
      db.exec("UPDATE meta SET value = hex(randomblob(8)) WHERE name = 'records_version'");
    });
    await new Promise((resolve) => setTimeout(resolve, 20));
    assert.equal(await read(app, made['key']), '401 UNAUTHENTICATED', column);
  }
});
