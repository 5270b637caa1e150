// The making of an API key that is cut short: its notice is in the log and its idempotency key is used up, but the key
// itself is not there. By the real service, whose second commit fails, and after a restart, as after a crash.

import assert from 'node:assert/strict';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { DatabaseSync } from 'node:sqlite';
import { test } from 'node:test';
import { parseJson } from '@tallystick/evidence';
import { EVENT } from '../testing/bound-operations.ts';
import { startTestApp, type TestApp } from '../testing/test-app.ts';
import { openRunningJournal } from '../testing/running-journal.ts';

const ADMIN_KEY = 'the-platform-key-of-these-tests';
const KEYS = '/admin/api-keys';
const wish = { name: 'ci', roles: ['Operator'] };

interface Seen {
  readonly code: string;
  readonly body: Record<string, unknown>;
}

async function post(app: TestApp, path: string, apiKey: string, body: unknown, key = ''): Promise<Seen> {
  const response = await fetch(`${app.url}/api/v1${path}`, {
    method: 'POST',
    headers: {
      'X-API-Key': apiKey,
      'X-Tenant-Id': 'acme',
      'Content-Type': 'application/json',
      ...(key !== '' && { 'Idempotency-Key': key }),
    },
    body: JSON.stringify(body),
  });
  const shown = parseJson(await response.text()) as Seen['body'];
  const { error } = shown as { error?: { code: string } };
  return { code: `${response.status} ${error?.code ?? ''}`.trim(), body: shown };
}

const send = async (app: TestApp, apiKey: unknown) =>
  (await post(app, '/audit-events', String(apiKey), EVENT)).code;

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
    /** From now on no key can be written; everything else can. */
    breakKeys: () =>
      inJournal((db) =>
        db.exec("CREATE TRIGGER cut BEFORE INSERT ON api_keys BEGIN SELECT RAISE(ABORT, 'cut short'); END"),
      ),
    mendKeys: () => inJournal((db) => db.exec('DROP TRIGGER cut')),
    keyIds: () =>
      inJournal((db) =>
        db
          .prepare("SELECT key_id FROM api_keys WHERE tenant_id = 'acme' ORDER BY created_at_ms")
          .all()
          .map((row) => row['key_id']),
      ),
    /** What the notices in the log say, in order: the act, and the key it was done to. */
    noticed: () =>
      inJournal((db) =>
        db
          .prepare("SELECT text2 FROM contents WHERE instr(text2, 'act') ORDER BY id")
          .all()
          .map((row) => parseJson(Buffer.from(row['text2'] as Uint8Array).toString()) as Noted)
          .map(({ payload }) => [payload.act, ...payload.subjectIds]),
      ),
    [Symbol.dispose]: () => rmSync(folder, { recursive: true, force: true }),
  };
}

interface Noted {
  readonly payload: { readonly act: string; readonly subjectIds: string[] };
}

test('a key that was noted and not made is made by the repeat, under the id that was noted', async () => {
  using place = openPlace();
  {
    await using app = await place.start();
    place.breakKeys();
    assert.equal((await post(app, KEYS, ADMIN_KEY, wish, 'once')).code, '503 SERVICE_UNAVAILABLE');
    assert.equal((await post(app, KEYS, ADMIN_KEY, wish, 'once')).code, '503 SERVICE_UNAVAILABLE');
  }
  const [[act, keyId] = []] = place.noticed();
  assert.equal(act, 'KeyCreated');
  assert.deepEqual(place.keyIds(), []);
  place.mendKeys();
  await using app = await place.start();
  const other = await post(app, KEYS, ADMIN_KEY, { ...wish, roles: ['Admin'] }, 'once');
  assert.equal(other.code, '409 IDEMPOTENCY_KEY_REUSED');
  const made = await post(app, KEYS, ADMIN_KEY, wish, 'once');
  assert.deepEqual([made.code, made.body['keyId'], made.body['status']], ['200', keyId, 'Active']);
  assert.equal(await send(app, made.body['key']), '201');
  const { key: _, ...facts } = made.body;
  const again = await post(app, KEYS, ADMIN_KEY, wish, 'once');
  assert.deepEqual([again.code, again.body], ['200', facts], 'the secret is shown once');
  assert.deepEqual(place.keyIds(), [keyId]);
  assert.deepEqual(place.noticed(), [['KeyCreated', keyId]], 'what was done once is noted once');
});

test('a rotation that was noted and not done is done by the repeat, and the old key works until then', async () => {
  using place = openPlace();
  let old: Seen['body'];
  const rotate = (app: TestApp) =>
    post(app, `${KEYS}/${String(old['keyId'])}/rotate`, ADMIN_KEY, { gracePeriod: 'PT0S' }, 'once');
  {
    await using app = await place.start();
    old = (await post(app, KEYS, ADMIN_KEY, wish)).body;
    place.breakKeys();
    assert.equal((await rotate(app)).code, '503 SERVICE_UNAVAILABLE');
    assert.equal(await send(app, old['key']), '201');
  }
  place.mendKeys();
  await using app = await place.start();
  assert.equal(await send(app, old['key']), '201');
  const next = await rotate(app);
  assert.equal(next.code, '200');
  assert.equal(await send(app, next.body['key']), '201');
  assert.equal(await send(app, old['key']), '401 API_KEY_REVOKED');
  const { key: _, ...facts } = next.body;
  const again = await rotate(app);
  assert.deepEqual([again.code, again.body], ['200', facts], 'the secret is shown once');
  assert.deepEqual(place.keyIds(), [old['keyId'], next.body['keyId']]);
  assert.deepEqual(place.noticed(), [
    ['KeyCreated', old['keyId']],
    ['KeyRotated', old['keyId']],
  ]);
});

test('whoever repeats must have the right to make the key themselves', async () => {
  using place = openPlace();
  await using app = await place.start();
  const limited = await post(app, KEYS, ADMIN_KEY, { name: 'limited', scopes: ['audit:keys'] });
  place.breakKeys();
  assert.equal((await post(app, KEYS, ADMIN_KEY, wish, 'once')).code, '503 SERVICE_UNAVAILABLE');
  place.mendKeys();
  const stranger = await post(app, KEYS, String(limited.body['key']), wish, 'once');
  assert.equal(stranger.code, '403 FORBIDDEN');
  assert.equal((await post(app, KEYS, ADMIN_KEY, wish, 'once')).code, '200');
});

test('a repeat is read as the first request was: null means absent', async () => {
  using place = openPlace();
  await using app = await place.start();
  const withNulls = { ...wish, scopes: null, clearance: null, expiresAt: null };
  place.breakKeys();
  assert.equal((await post(app, KEYS, ADMIN_KEY, withNulls, 'once')).code, '503 SERVICE_UNAVAILABLE');
  place.mendKeys();
  const made = await post(app, KEYS, ADMIN_KEY, withNulls, 'once');
  assert.deepEqual([made.code, 'expiresAt' in made.body, 'clearance' in made.body], ['200', false, false]);
  const path = `${KEYS}/${String(made.body['keyId'])}/rotate`;
  place.breakKeys();
  const rotation = { gracePeriod: null };
  assert.equal((await post(app, path, ADMIN_KEY, rotation, 'turn')).code, '503 SERVICE_UNAVAILABLE');
  place.mendKeys();
  assert.equal((await post(app, path, ADMIN_KEY, rotation, 'turn')).code, '200');
});
