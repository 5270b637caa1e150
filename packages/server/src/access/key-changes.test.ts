import assert from 'node:assert/strict';
import { test } from 'node:test';
import { AuditError } from '@tallystick/contract';
import { KINDS, parseJson } from '@tallystick/evidence';
import { createFakeClock } from '../runtime/fake-clock.ts';
import { createUlids } from '../runtime/ids.ts';
import { createSystemRandom } from '../runtime/random.ts';
import type { AppendRequest } from '../streams/log.ts';
import type { Facts } from '../telemetry.ts';
import { type ApiKeyRecord, hashOfKey, keyIdIn } from './api-keys.ts';
import { createKeyChanges, type KeyWish } from './key-changes.ts';

const DAY_MS = 86_400_000;
const cause = { by: 'key:01KE0000000000000000000042', requestId: 'r-1', correlationId: 'order-7' };
const wish: KeyWish = {
  tenantId: 'acme',
  name: 'ci',
  roles: ['Operator'],
  scopes: [],
  clearance: undefined,
  expiresAtMs: undefined,
};

/** The store is a list here; what the real one does is held by its own tests. */
function setUp() {
  const clock = createFakeClock();
  const random = createSystemRandom();
  const steps: string[] = [];
  const notices: AppendRequest[] = [];
  const kept: { record: ApiKeyRecord; hash: Uint8Array }[] = [];
  const state = { logFails: false };
  const told: Facts[] = [];
  const changes = createKeyChanges({
    telemetry: { info: (_, facts = {}) => void told.push(facts) },
    clock,
    random,
    nextId: createUlids(clock, random),
    provide: (tenant) => Promise.resolve(steps.push(`tenant ${tenant}`)),
    append: (request) => {
      if (state.logFails) return Promise.reject(new AuditError('SERVICE_UNAVAILABLE', 'no log'));
      notices.push(request);
      steps.push('notice');
      return Promise.resolve({ status: 'Done', outcomes: [] });
    },
    keys: {
      findByHash: () => assert.fail(),
      find: () => assert.fail(),
      list: () => Promise.resolve(kept.map(({ record }) => record)),
      page: () => assert.fail(),
      count: () => assert.fail(),
      create: (record, hash) => Promise.resolve(steps.push('create') > 0 && kept.push({ record, hash }) > 0),
      createFirst: () => assert.fail(),
      rotate: (record, hash, endsAtMs) => {
        steps.push(`rotate, old ends in ${endsAtMs - clock.now()} ms`);
        return Promise.resolve(kept.push({ record, hash }) > 0);
      },
      revoke: () => Promise.resolve(steps.push('revoke') > 0),
    },
  });
  return { clock, steps, notices, kept, state, told, changes };
}

test('a key is made after its notice, and only its hash is kept', async () => {
  const { changes, steps, notices, kept } = setUp();
  const { key, record } = await changes.create(wish, cause);
  assert.deepEqual(steps, ['tenant acme', 'notice', 'create']);
  assert.equal(keyIdIn(key), record.keyId);
  assert.deepEqual(kept, [{ record, hash: hashOfKey(key) }]);
  assert.deepEqual([record.createdBy, record.replaces], [cause.by, undefined]);
  const [{ tenant, drafts } = assert.fail()] = notices;
  assert.deepEqual([tenant, drafts.length, drafts[0]!.kind], ['acme', 1, KINDS.administration]);
  const { payload } = parseJson(Buffer.from(drafts[0]!.texts[1]).toString()) as { payload: object };
  const expected = { act: 'KeyCreated', requestId: 'r-1', subjectIds: [record.keyId], count: 1 };
  assert.deepEqual({ ...payload }, expected);
  assert.ok(!JSON.stringify(notices).includes(key.slice(31)), 'the secret is in the log');
});

test('where the notice cannot be written, nothing changes', async () => {
  const { changes, steps, state, kept } = setUp();
  const { record } = await changes.create(wish, cause);
  state.logFails = true;
  steps.length = 0;
  await assert.rejects(changes.create(wish, cause));
  await assert.rejects(changes.rotate(record, 0, cause));
  await assert.rejects(changes.revoke(record, cause));
  assert.deepEqual(new Set(steps), new Set(['tenant acme']));
  assert.equal(kept.length, 1);
});

test('platform keys leave no notice: they belong to no log', async () => {
  const { changes, steps } = setUp();
  const { record } = await changes.create({ ...wish, tenantId: '*' }, cause);
  await changes.revoke(record, cause);
  assert.deepEqual(steps, ['create', 'revoke']);
});

test('a rotated key has what the old one had, and lives as long as that one was meant to', async () => {
  const { changes, clock, steps } = setUp();
  const old = await changes.create({ ...wish, expiresAtMs: clock.now() + 90 * DAY_MS }, cause);
  await clock.advance(80 * DAY_MS);
  const { record } = await changes.rotate(old.record, DAY_MS, cause);
  const { keyId, createdAtMs, expiresAtMs, replaces, ...same } = record;
  assert.deepEqual(old.record, { ...old.record, ...same });
  assert.notEqual(keyId, old.record.keyId);
  assert.equal(replaces, old.record.keyId);
  assert.equal(expiresAtMs! - createdAtMs, 90 * DAY_MS);
  assert.equal(steps.at(-1), `rotate, old ends in ${DAY_MS} ms`);
});

test('a key that is over or was rotated before is not rotated', async () => {
  const { changes, clock, notices } = setUp();
  const { record } = await changes.create(wish, cause);
  await changes.rotate(record, 0, cause);
  const over = { ...record, keyId: '01KE0000000000000000000099', revokedAtMs: clock.now() };
  for (const old of [record, over, { ...over, revokedAtMs: undefined, expiresAtMs: clock.now() }]) {
    await assert.rejects(changes.rotate(old, 0, cause), { code: 'KEY_NOT_FOUND' });
  }
  assert.equal(notices.length, 2);
});

test('each change is told to the operator with who asked for it, whom the notice does not name', async () => {
  const { changes, told } = setUp();
  const { record } = await changes.create(wish, cause);
  const next = await changes.rotate(record, 0, cause);
  await changes.revoke(next.record, cause);
  await changes.create({ ...wish, tenantId: '*' }, cause);
  const of = { tenant: 'acme', requestId: 'r-1', caller: cause.by };
  assert.deepEqual(told.slice(0, 3), [
    { ...of, act: 'KeyCreated', keyId: record.keyId },
    { ...of, act: 'KeyRotated', keyId: record.keyId },
    { ...of, act: 'KeyRevoked', keyId: next.record.keyId },
  ]);
  assert.equal(told[3]?.['tenant'], '*', 'platform keys have no notice, so this is all there is');
});

test('a key that was noted before is made without a second notice', async () => {
  const { changes, steps } = setUp();
  const { record } = await changes.create(wish, cause, '01KE0000000000000000000077');
  assert.equal(record.keyId, '01KE0000000000000000000077');
  await changes.rotate(record, 0, cause, '01KE0000000000000000000078');
  assert.deepEqual(steps, ['create', 'rotate, old ends in 0 ms']);
});

test('to revoke again changes nothing and leaves no second notice', async () => {
  const { changes, steps } = setUp();
  const { record } = await changes.create(wish, cause);
  await changes.revoke(record, cause);
  await changes.revoke({ ...record, revokedAtMs: 1 }, cause);
  assert.deepEqual(steps.slice(3), ['tenant acme', 'notice', 'revoke']);
});
