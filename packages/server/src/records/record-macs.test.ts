import assert from 'node:assert/strict';
import { createHmac } from 'node:crypto';
import { test } from 'node:test';
import { commitmentOf, toBase64 } from '@tallystick/evidence';
import { createSystemRandom } from '../runtime/random.ts';
import { commitmentOfRecord, createRecordMacs, type RecordDraft } from './record-macs.ts';
import type { StoredRecord } from './records.ts';

const random = createSystemRandom();
const [OLD, NEW] = [new Uint8Array(32).fill(1), new Uint8Array(32).fill(2)];

const draft: RecordDraft = {
  owner: 'acme',
  kind: 'ApiKey',
  id: '01KE0000000000000000000001',
  version: 3,
  content: {
    name: 'ci',
    state: 'Active',
    uniqueName: 'first',
    lookup: 'ab'.repeat(32),
    replaces: undefined,
  },
};

function setUp(...keys: Uint8Array[]) {
  const macs = createRecordMacs(
    () => keys,
    () => 'audit.example.com',
  );
  return { keys, macs, make: (more: Partial<RecordDraft> = {}) => macs.make({ ...draft, ...more }, random) };
}

test('a record holds the canonical text of its content, with its version, and copies of what it is found by', () => {
  const { macs, make } = setUp(OLD);
  const { mac, salt, ...record } = make();
  assert.deepEqual(record, {
    owner: 'acme',
    kind: 'ApiKey',
    id: draft.id,
    version: 3,
    body: `{"lookup":"${'ab'.repeat(32)}","name":"ci","state":"Active","uniqueName":"first","version":3}`,
    state: 'Active',
    uniqueName: 'first',
    lookup: Buffer.alloc(32, 0xab),
  });
  assert.deepEqual([salt.length, mac.length], [16, 34]);
  assert.notDeepEqual(make().salt, salt);
  assert.ok(macs.isGenuine({ ...record, mac, salt }));
  assert.equal(commitmentOfRecord({ ...record, salt }), toBase64(commitmentOf(salt, record.body)));
});

test('the MAC is the one that the head of the file says', () => {
  const { make } = setUp(OLD, NEW);
  const { salt, mac, body } = make({ content: { state: 'Active' } });
  const named = ['audit.example.com', 'acme', 'ApiKey', draft.id];
  const text = JSON.stringify([...named, 3, 'Active', null, null, toBase64(salt), body]);
  const expected = createHmac('sha256', NEW).update(text).digest();
  assert.deepEqual(Buffer.from(mac), Buffer.concat([Buffer.from([0, 2]), expected]));
});

test('a record whose any column was altered, or that was moved, is not genuine', () => {
  const { macs, make } = setUp(OLD);
  const record = make();
  const flipped = (bytes: Uint8Array, at: number) => bytes.map((byte, i) => (i === at ? byte ^ 1 : byte));
  const altered: { [K in keyof StoredRecord]: readonly StoredRecord[K][] } = {
    owner: ['other', '*', 'acme2', ''],
    kind: ['Tenant'],
    id: ['', '01KE0000000000000000000002'],
    version: [2, 4, 0],
    body: [record.body.replace('ci', 'cd'), `${record.body} `, ''],
    state: ['Revoked', ''],
    uniqueName: [undefined, '', 'second'],
    lookup: [undefined, new Uint8Array(), flipped(record.lookup!, 0)],
    salt: [flipped(record.salt, 15), record.salt.subarray(1), new Uint8Array()],
    mac: [
      flipped(record.mac, 0),
      flipped(record.mac, 1),
      flipped(record.mac, 2),
      flipped(record.mac, 33),
      record.mac.subarray(0, 33),
      record.mac.subarray(0, 2),
      record.mac.subarray(0, 1),
      new Uint8Array(),
      Buffer.concat([record.mac, Buffer.alloc(1)]),
    ],
  };
  for (const [column, values] of Object.entries(altered))
    for (const value of values) {
      const other = { ...record, [column]: value } as StoredRecord;
      assert.equal(macs.isGenuine(other), false, `${column} ${String(value)}`);
    }
  assert.ok(macs.isGenuine(record), 'control');
});

test('what stands in one column cannot be moved to the next one', () => {
  const { macs, make } = setUp(OLD);
  const record = make({ content: { state: 'Active', uniqueName: 'x' } });
  assert.equal(macs.isGenuine({ ...record, state: 'x', uniqueName: 'Active' }), false);
  assert.equal(macs.isGenuine({ ...record, id: `${record.id}","3`, version: 3 }), false);
});

test('after a rotation of the signing key older records are genuine, and new ones are of the new key', () => {
  const before = setUp(OLD);
  const old = before.make();
  const after = setUp(OLD, NEW);
  assert.ok(after.macs.isGenuine(old));
  const next = after.make({ version: 4 });
  assert.deepEqual([old.mac[1], next.mac[1]], [1, 2]);
  assert.ok(after.macs.isGenuine(next));
  assert.equal(before.macs.isGenuine(next), false, 'a process that has not read the new key yet');
  before.keys.push(NEW);
  assert.ok(before.macs.isGenuine(next), 'and has it now');
});

test('a number that no key has, and a MAC of another key, are not genuine', () => {
  const { macs, make } = setUp(OLD, NEW);
  const record = make();
  for (const number of [0, 1, 3, 0xffff]) {
    const mac = Buffer.from(record.mac);
    mac.writeUInt16BE(number);
    assert.equal(macs.isGenuine({ ...record, mac }), false, `key ${number}`);
  }
  const foreign = setUp(new Uint8Array(32).fill(9), new Uint8Array(32).fill(8)).make();
  assert.equal(macs.isGenuine(foreign), false);
});

test('without a key no record is made', () => {
  const { make } = setUp();
  assert.throws(() => make(), /no key/);
});

test('a record of another installation with the same keys is not genuine', () => {
  const { make } = setUp(OLD);
  const other = createRecordMacs(
    () => [OLD],
    () => 'other.example.com',
  );
  assert.equal(other.isGenuine(make()), false);
});
