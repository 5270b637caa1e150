import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { ChangeRequest } from '../records/change.ts';
import type { StoredRecord } from '../records/records.ts';
import { createSystemRandom } from '../runtime/random.ts';
import type { ApiKeyRecord } from './api-keys.ts';
import { adoptOlderKeys, type OlderKey } from './older-keys.ts';

function older(keyId: string, more: Partial<OlderKey> = {}): OlderKey {
  return {
    keyId,
    tenantId: 'acme',
    name: keyId,
    hash: Buffer.alloc(32, keyId),
    roles: ['Operator'],
    scopes: [],
    clearance: undefined,
    createdAtMs: 1,
    createdBy: 'system',
    expiresAtMs: undefined,
    revokedAtMs: undefined,
    replaces: undefined,
    ...more,
  };
}

async function adopt(keys: readonly OlderKey[], made: readonly string[] = []) {
  const requests: ChangeRequest[] = [];
  const removed: string[] = [];
  const count = await adoptOlderKeys({
    older: { list: async () => keys, remove: async (tenantId) => void removed.push(tenantId) },
    keys: { find: async (id) => (made.includes(id) ? ({} as ApiKeyRecord) : undefined) },
    random: createSystemRandom(),
    change: async (request) => {
      requests.push(request);
      return { status: 'Done', records: request.writes.map(({ id }) => ({ id }) as StoredRecord) };
    },
  });
  const chains = requests.flatMap(({ writes }) =>
    writes.map(({ id, content: { replaces, replacedBy, firstKeyId } }) => [
      id,
      replaces,
      replacedBy,
      firstKeyId,
    ]),
  );
  return { count, requests, removed, chains };
}

test('keys become records of their owner, each with a notice, and their rows go', async () => {
  const { count, requests, removed } = await adopt([older('a'), older('b', { tenantId: '*' })]);
  assert.equal(count, 2);
  assert.deepEqual(
    requests.map(({ owner, writes }) => [owner, writes.map(({ id, notice }) => [id, notice?.action])]),
    [
      ['acme', [['a', 'Adopt.ApiKey']]],
      ['*', [['b', 'Adopt.ApiKey']]],
    ],
  );
  assert.deepEqual(removed, ['acme', '*']);
});

test('a key that was rotated is the same caller as the first one', async () => {
  const keys = [older('a'), older('b', { replaces: 'a' }), older('c', { replaces: 'b' })];
  assert.deepEqual((await adopt(keys)).chains, [
    ['a', undefined, 'b', undefined],
    ['b', 'a', 'c', 'a'],
    ['c', 'b', undefined, 'a'],
  ]);
});

test('rows that replace each other in a circle, or a key that is gone, end the walk', async () => {
  const circle = [older('a', { replaces: 'b' }), older('b', { replaces: 'a' })];
  const { chains } = await adopt([...circle, older('c', { replaces: 'gone' })]);
  assert.deepEqual(chains, [
    ['a', 'b', 'b', 'b'],
    ['b', 'a', 'a', 'a'],
    ['c', 'gone', undefined, undefined],
  ]);
});

test('a start that was cut short goes on with the keys that are missing', async () => {
  const { requests, removed, count } = await adopt([older('a'), older('b')], ['a']);
  assert.deepEqual(
    requests.flatMap(({ writes }) => writes.map(({ id }) => id)),
    ['b'],
  );
  assert.deepEqual([count, removed], [2, ['acme']]);
});
