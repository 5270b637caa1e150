import assert from 'node:assert/strict';
import { test } from 'node:test';
import { AuditError, type KeyId } from '@tallystick/contract';
import { KINDS } from '@tallystick/evidence';
import type { ChangeRequest } from '../records/change.ts';
import type { StoredRecord } from '../records/records.ts';
import { createFakeClock } from '../testing/fake-clock.ts';
import { createUlids } from '../runtime/ids.ts';
import { createSystemRandom } from '../runtime/random.ts';
import { once } from '../storage/conformance/claims.ts';
import type { Facts } from '../telemetry.ts';
import { TENANT } from '../testing/test-call.ts';
import { type ApiKeyRecord, hashOfKey, keyIdIn } from './api-keys.ts';
import { createKeyChanges, type KeySettings, type MadeKey } from './key-changes.ts';

const DAY_MS = 86_400_000;
const cause = { by: 'key:01KE0000000000000000000042', requestId: 'r-1', correlationId: 'order-7' };
const request: KeySettings = {
  tenantId: 'acme',
  name: 'ci',
  roles: ['Operator'],
  scopes: [],
  clearance: undefined,
  expiresAtMs: undefined,
};

/** What is stored is a version for each key here; what the real store does is held by its own tests. */
function setUp() {
  const clock = createFakeClock();
  const random = createSystemRandom();
  const changeRequests: ChangeRequest[] = [];
  const versions = new Map<KeyId, number>();
  const state = {
    logFails: false,
    /** As somebody else has left it. */
    found: undefined as ApiKeyRecord | undefined,
  };
  const told: Facts[] = [];
  const changes = createKeyChanges({
    telemetry: { info: (_, facts = {}) => void told.push(facts) },
    clock,
    random,
    nextId: createUlids(clock, random),
    ensureOwner: () => Promise.resolve(TENANT),
    keys: { find: () => Promise.resolve(state.found) },
    async change(asked) {
      if (state.logFails) throw new AuditError('SERVICE_UNAVAILABLE', 'no log');
      for (const { id, version } of asked.writes) {
        const stored = versions.get(id) ?? 0;
        if (stored !== version - 1) return { status: 'Stale', id, version: stored };
      }
      for (const { id, version } of asked.writes) versions.set(id, version);
      changeRequests.push(asked);
      return { status: 'Done', records: asked.writes.map(({ id }) => ({ id }) as StoredRecord) };
    },
  });
  const create = async (more: Partial<KeySettings> = {}): Promise<MadeKey> =>
    (await changes.create({ ...request, ...more }, cause))!;
  return { clock, changeRequests, versions, state, told, changes, create };
}

test('a key is made together with its notice, and only its hash is kept', async () => {
  const { create, changeRequests } = setUp();
  const { key, record } = await create();
  assert.equal(keyIdIn(key), record.keyId);
  assert.deepEqual([record.createdBy, record.replaces, record.version], [cause.by, undefined, 1]);
  assert.deepEqual(record.hash, hashOfKey(key));
  const [{ owner, writes, correlationId } = assert.fail()] = changeRequests;
  assert.deepEqual([owner, writes.length, correlationId], ['acme', 1, 'order-7']);
  const [{ kind, id, version, content, notice } = assert.fail()] = writes;
  assert.deepEqual([kind, id, version, content.state], ['ApiKey', record.keyId, 1, 'Active']);
  assert.equal(content.lookup, Buffer.from(hashOfKey(key)).toString('hex'));
  assert.deepEqual([notice.kind, notice.action], [KINDS.administration, 'Create.ApiKey']);
  const expected = { act: 'KeyCreated', requestId: 'r-1', subjectIds: [record.keyId], count: 1 };
  assert.deepEqual(notice.payload, expected);
  assert.ok(!JSON.stringify(changeRequests).includes(key.slice(31, 63)), 'the secret is in the store');
});

test('where the change cannot be written, it fails', async () => {
  const { changes, create, state, versions } = setUp();
  const { record } = await create();
  state.logFails = true;
  await assert.rejects(changes.create(request, cause), { code: 'SERVICE_UNAVAILABLE' });
  await assert.rejects(changes.rotate(record, { graceMs: 0, isSameCaller: true }, cause), {
    code: 'SERVICE_UNAVAILABLE',
  });
  await assert.rejects(changes.revoke(record, cause), { code: 'SERVICE_UNAVAILABLE' });
  assert.deepEqual([...versions], [[record.keyId, 1]]);
});

test('platform keys are of the installation, and leave their notices in its log', async () => {
  const { changes, create, changeRequests } = setUp();
  const { record } = await create({ tenantId: '*' });
  const next = await changes.rotate(record, { graceMs: 0, isSameCaller: true }, cause);
  await changes.revoke(next.record, cause);
  assert.deepEqual(
    changeRequests.map(({ owner, writes }) => [owner, writes.map(({ notice }) => notice.action)]),
    [
      ['*', ['Create.ApiKey']],
      ['*', ['Rotate.ApiKey', 'Create.ApiKey']],
      ['*', ['Revoke.ApiKey']],
    ],
  );
});

test('a rotated key has what the old one had, and the same lifetime again', async () => {
  const { changes, create, clock, changeRequests } = setUp();
  const old = await create({ expiresAtMs: clock.now() + 90 * DAY_MS, uniqueName: 'the first' });
  await clock.advance(80 * DAY_MS);
  const { record } = await changes.rotate(old.record, { graceMs: DAY_MS, isSameCaller: true }, cause);
  const { keyId, createdAtMs, expiresAtMs, replaces, firstKeyId, hash, uniqueName, ...same } = record;
  assert.deepEqual(old.record, { ...old.record, ...same });
  assert.notEqual(keyId, old.record.keyId);
  assert.notDeepEqual(hash, old.record.hash);
  assert.deepEqual([replaces, firstKeyId, uniqueName], [old.record.keyId, old.record.keyId, undefined]);
  assert.equal(expiresAtMs! - createdAtMs, 90 * DAY_MS);
  const { writes } = changeRequests.at(-1)!;
  assert.deepEqual(
    writes.map(({ id, version, notice }) => [id, version, (notice.payload as { act: string }).act]),
    [
      [old.record.keyId, 2, 'KeyRotated'],
      [keyId, 1, 'KeyCreated'],
    ],
  );
  const [ended] = writes;
  assert.equal(ended!.content['replacedBy'], keyId);
  assert.equal(ended!.content['expiresAtMs'], clock.now() + DAY_MS);
  assert.equal(ended!.content.uniqueName, 'the first');
});

test('a rotated key works until the grace period ends, or its own end if that is sooner', async () => {
  const { changes, create, clock, changeRequests } = setUp();
  for (const [expiresAtMs, expected] of [
    [clock.now() + 1000, clock.now() + 1000],
    [undefined, clock.now() + 5000],
  ]) {
    const { record } = await create({ expiresAtMs });
    await changes.rotate(record, { graceMs: 5000, isSameCaller: true }, cause);
    assert.equal(changeRequests.at(-1)!.writes[0]!.content['expiresAtMs'], expected);
  }
});

test('a key that is over, was rotated before, or is changed meanwhile is not rotated', async () => {
  const { changes, create, clock, changeRequests } = setUp();
  const { record } = await create();
  const next = await changes.rotate(record, { graceMs: 0, isSameCaller: true }, cause);
  const gone: [ApiKeyRecord, RegExp][] = [
    [{ ...record, revokedAtMs: clock.now() }, /was revoked/],
    [{ ...record, expiresAtMs: clock.now() }, /has expired/],
    [{ ...record, replacedBy: next.record.keyId }, /was rotated before/],
    [record, /was changed by somebody else meanwhile/],
  ];
  for (const [old, message] of gone)
    await assert.rejects(changes.rotate(old, { graceMs: 0, isSameCaller: true }, cause), {
      code: 'KEY_NOT_FOUND',
      message,
    });
  assert.equal(changeRequests.length, 2);
});

test('each change is told to the operator with who asked for it, whom the notice does not name', async () => {
  const { changes, create, told } = setUp();
  const { record } = await create();
  const next = await changes.rotate(record, { graceMs: 0, isSameCaller: true }, cause);
  await changes.revoke(next.record, cause);
  await create({ tenantId: '*' });
  const of = { tenant: 'acme', requestId: 'r-1', caller: cause.by };
  assert.deepEqual(told.slice(0, 4), [
    { ...of, act: 'KeyCreated', keyId: record.keyId },
    { ...of, act: 'KeyRotated', keyId: record.keyId },
    { ...of, act: 'KeyCreated', keyId: next.record.keyId },
    { ...of, act: 'KeyRevoked', keyId: next.record.keyId },
  ]);
  assert.equal(told[4]?.['tenant'], '*');
});

test("the request's own key is used up by what makes a key, and says which one that is", async () => {
  const { changes, changeRequests } = setUp();
  const keyed = { ...cause, onceFor: (note: KeyId) => once('k', { note }) };
  const { record } = (await changes.create(request, keyed))!;
  const next = await changes.rotate(record, { graceMs: 0, isSameCaller: true }, keyed);
  await changes.revoke(next.record, keyed);
  assert.deepEqual(
    changeRequests.map((asked) => asked.once?.note),
    [record.keyId, next.record.keyId, undefined],
  );
});

test('to revoke again changes nothing and leaves no second notice', async () => {
  const { changes, create, changeRequests } = setUp();
  const { record } = await create();
  await changes.revoke(record, cause);
  await changes.revoke({ ...record, revokedAtMs: 1 }, cause);
  assert.equal(changeRequests.length, 2);
  const [{ content } = assert.fail()] = changeRequests[1]!.writes;
  assert.equal(content.state, 'Revoked');
});

test('a key that was changed meanwhile is revoked as it is now, and one that is revoked by now is left', async () => {
  const { changes, create, state, versions, changeRequests } = setUp();
  const { record } = await create();
  versions.set(record.keyId, 3);
  state.found = { ...record, version: 3, replacedBy: '01KE0000000000000000000077' };
  await changes.revoke(record, cause);
  const [{ version, content } = assert.fail()] = changeRequests[1]!.writes;
  assert.deepEqual([version, content['replacedBy']], [4, '01KE0000000000000000000077']);
  state.found = { ...record, version: 4, revokedAtMs: 1 };
  await changes.revoke(record, cause);
  assert.equal(changeRequests.length, 2);
});

test('a unique name that another key of the tenant has is said, and makes nothing', async () => {
  const clock = createFakeClock();
  const random = createSystemRandom();
  const changes = createKeyChanges({
    clock,
    random,
    nextId: createUlids(clock, random),
    keys: { find: () => assert.fail() },
    change: async () => ({ status: 'NameTaken', uniqueName: 'first' }),
  });
  assert.equal(await changes.create({ ...request, uniqueName: 'first' }, cause), undefined);
});
