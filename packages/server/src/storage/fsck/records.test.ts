import assert from 'node:assert/strict';
import { test } from 'node:test';
import { KINDS, type Notice } from '@tallystick/evidence';
import { commitmentOfRecord, createRecordMacs, type RecordContent } from '../../records/record-macs.ts';
import type { RecordKind, StoredRecord } from '../../records/records.ts';
import { createSystemRandom } from '../../runtime/random.ts';
import { NotedRecords } from './records.ts';

const ID = '01KE0000000000000000000001';
const random = createSystemRandom();
const macs = createRecordMacs(
  () => [new Uint8Array(32)],
  () => 'audit.example.com',
);

function recordOf(version: number, content: Partial<RecordContent> = {}, id = ID): StoredRecord {
  const kind: RecordKind = id === '' ? 'Tenant' : 'ApiKey';
  const draft = { owner: 'acme', kind, id, version, content: { state: 'Active', ...content } };
  return macs.make(draft, random);
}

function noticeOf(record: StoredRecord, index: number): Notice {
  if (record.kind === 'Policy')
    return {
      kind: KINDS.policyChange,
      index,
      payload: {
        policyId: record.id,
        policyVersion: record.version,
        policyType: 'Access',
        act: 'Updated',
        commitment: commitmentOfRecord(record),
      },
    };
  const payload = {
    act: record.kind === 'Tenant' ? 'TenantChanged' : 'KeyCreated',
    requestId: 'r-1',
    subjectIds: record.id === '' ? [] : [record.id],
    count: 1,
    commitment: commitmentOfRecord(record),
  };
  return { kind: KINDS.administration, index, payload };
}

/** The verdict on stored records, with a notice for each of `noticed`, and the versions that were before them. */
function verdict(
  noticed: readonly StoredRecord[],
  stored: readonly StoredRecord[],
  past: readonly StoredRecord[] = [],
): string {
  const noted = new NotedRecords();
  try {
    for (const [i, record] of noticed.entries()) noted.notice(noticeOf(record, i));
    for (const record of past) noted.requirePast(record);
    for (const record of stored) noted.require(record);
    noted.end();
    return 'sound';
  } catch (error) {
    const { reason, message } = error as { reason: string; message: string };
    return `${reason}: ${message}`;
  }
}

test('records that are what their newest notices commit to are sound', () => {
  const settings = recordOf(1, {}, '');
  const [first, second] = [recordOf(1), recordOf(2, { uniqueName: 'ci', lookup: 'ab'.repeat(32) })];
  assert.equal(verdict([], []), 'sound');
  assert.equal(verdict([first, settings, second], [second, settings], [first]), 'sound');
});

test('versions of the past are what their notices commit to, each there once', () => {
  const [first, second, third] = [recordOf(1), recordOf(2, { state: 'Revoked' }), recordOf(3)];
  const all = [first, second, third];
  const judged = (...past: readonly StoredRecord[]) => verdict(all, [third], past);
  assert.equal(judged(first, second), 'sound');
  // Keys may have been changed before past versions were kept.
  assert.equal(judged(second), 'sound');
  assert.match(judged(first, first, second), /^LEAF_MISMATCH: no notice tells of version 1/);
  assert.match(judged(first, second, third), /^LEAF_MISMATCH: no notice tells of version 3/);
  assert.match(
    judged(first, { ...second, state: 'Active' }),
    /^LEAF_MISMATCH: version 2 .* index 1, commits/,
  );
  assert.match(judged(first, { ...recordOf(2) }), /^LEAF_MISMATCH: version 2 .* index 1, commits to/);
  assert.match(verdict(all, [second], [first, third]), /^LEAF_MISMATCH: no notice tells of version 3/);
});

test('every version of a policy must be there', () => {
  const policyOf = (version: number) =>
    macs.make(
      { owner: 'acme', kind: 'Policy', id: ID, version, content: { state: 'Active', version } },
      random,
    );
  const [first, second, third] = [policyOf(1), policyOf(2), policyOf(3)];
  const judged = (...past: readonly StoredRecord[]) => verdict([first, second, third], [third], past);
  assert.equal(judged(first, second), 'sound');
  assert.match(judged(second), /^TRUNCATED: version 1 of the record Policy .* index 0 tells of is gone/);
  assert.match(judged(), /^TRUNCATED: version 2 of the record Policy .* index 1 tells of is gone/);
});

test('a record without a notice was not written by the service', () => {
  const [noted, other] = [recordOf(1), recordOf(1, {}, '01KE0000000000000000000002')];
  assert.match(verdict([], [noted]), /^LEAF_MISMATCH: no notice tells of the record ApiKey 01KE/);
  assert.match(verdict([noted], [noted, other]), /^LEAF_MISMATCH: no notice tells of .*002/);
  assert.match(verdict([noted], [noted, noted]), /^LEAF_MISMATCH: no notice/, 'there twice');
});

test('a record that was put back to an older version is not what its newest notice says', () => {
  const [first, second] = [recordOf(1), recordOf(2, { state: 'Revoked' })];
  assert.match(
    verdict([first, second], [first]),
    /^LEAF_MISMATCH: .* newest notice, at index 1, commits to$/,
  );
});

test('a missing record is found', () => {
  const [one, two] = [recordOf(1), recordOf(1, {}, '')];
  assert.match(
    verdict([one], []),
    /^TRUNCATED: the record ApiKey 01KE.* that the notice at index 0 tells of is gone/,
  );
  assert.match(verdict([one, two], [one]), /^TRUNCATED: the record Tenant that .* index 1 /);
});

test('a column that differs from the body is found', () => {
  const record = recordOf(2, { uniqueName: 'ci', lookup: 'ab'.repeat(32) });
  const altered: Partial<StoredRecord>[] = [
    { version: 1 },
    { version: 3 },
    { state: 'Revoked' },
    { uniqueName: undefined },
    { uniqueName: 'other' },
    { lookup: undefined },
    { lookup: new Uint8Array(32) },
    { salt: new Uint8Array(16) },
    { body: `${record.body} ` },
    { body: 'no JSON' },
    { kind: 'Tenant' },
  ];
  for (const columns of altered)
    assert.match(verdict([record], [{ ...record, ...columns }]), /^LEAF_MISMATCH: /, JSON.stringify(columns));
  const plain = recordOf(1);
  assert.match(verdict([plain], [{ ...plain, uniqueName: 'added' }]), /^LEAF_MISMATCH: /);
  assert.match(verdict([plain], [{ ...plain, lookup: new Uint8Array(32) }]), /^LEAF_MISMATCH: /);
});

test('a notice without a commitment names no record', () => {
  const noted = new NotedRecords();
  const payload = { act: 'KeyCreated', requestId: 'r-1', subjectIds: [ID], count: 1 };
  noted.notice({ kind: KINDS.administration, index: 0, payload });
  noted.end();
});

test('a notice that repeats an earlier version does not cover a record that was put back', () => {
  const [first, second] = [recordOf(1), recordOf(2, { state: 'Revoked' })];
  assert.match(
    verdict([first, second, first], [first]),
    /^NOTICE_INVALID: the notice at index 2 commits to an earlier version of the record ApiKey/,
  );
});

test('a record that was put back and then changed has too few versions', () => {
  const [first, revoked] = [recordOf(1), recordOf(2, { state: 'Revoked' })];
  const changed = recordOf(2, { state: 'Active' });
  assert.match(
    verdict([first, revoked, changed], [changed]),
    /^LEAF_MISMATCH: the record ApiKey .* has version 2, and 3 notices tell of it/,
  );
});
