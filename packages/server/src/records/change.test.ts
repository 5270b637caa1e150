import assert from 'node:assert/strict';
import { test } from 'node:test';
import { KINDS, parseJson } from '@tallystick/evidence';
import { createFakeClock } from '../testing/fake-clock.ts';
import { createUlids } from '../runtime/ids.ts';
import { createSystemRandom } from '../runtime/random.ts';
import { fingerprint, NOW_MS, once } from '../storage/conformance/claims.ts';
import type { AppendRequest, AppendResult, UsedIdempotencyKey } from '../streams/log.ts';
import { type ChangeResult, createChange, type RecordWrite, recordsOf } from './change.ts';
import { commitmentOfRecord, createRecordMacs } from './record-macs.ts';
import type { ChangeRefusal } from './records.ts';

const ID = '01KE0000000000000000000001';
const CORRELATION = '7d3f0c52-6a3e-4b51-9a0e-2f6b1f3c9d11';
const DONE: AppendResult = { status: 'Done', outcomes: [] };
const USED: UsedIdempotencyKey = {
  fingerprint: fingerprint(1),
  classification: 'Internal',
  expiresAtMs: NOW_MS,
  note: '',
  outcomes: [],
};

function writeOf(id: string, version = 1): RecordWrite {
  return {
    kind: 'ApiKey',
    id,
    version,
    content: { state: 'Active', name: id },
    notice: {
      kind: KINDS.administration,
      action: 'Create.ApiKey',
      resource: { resourceType: 'ApiKey', resourceId: id },
      payload: { act: 'KeyCreated', requestId: 'r-1', subjectIds: [id], count: 1 },
    },
  };
}

function setUp(answer: () => AppendResult | ChangeRefusal = () => DONE) {
  const clock = createFakeClock();
  const random = createSystemRandom();
  const steps: string[] = [];
  const requests: AppendRequest[] = [];
  const macs = createRecordMacs(
    () => [new Uint8Array(32)],
    () => 'audit.example.com',
  );
  const change = createChange({
    macs,
    clock,
    random,
    nextId: createUlids(clock, random),
    ensureOwner: async (owner) => void steps.push(`ensureOwner ${owner}`),
    async append(request) {
      steps.push('append');
      requests.push(request);
      return answer();
    },
    onChanged: () => void steps.push('changed'),
  });
  return { macs, steps, requests, change };
}

const noticeIn = (request: AppendRequest, i: number) =>
  parseJson(Buffer.from(request.drafts[i]!.texts[1]).toString()) as {
    payload: Record<string, unknown>;
  };

test('records and the notices that commit to them are one request, behind the owner', async () => {
  const { macs, steps, requests, change } = setUp();
  const key = once('k');
  const [one, two] = [writeOf(ID), writeOf('01KE0000000000000000000002', 7)];
  const result = await change({ owner: '*', writes: [one, two], correlationId: CORRELATION, once: key });
  assert.deepEqual(steps, ['ensureOwner *', 'append', 'changed']);
  const [request = assert.fail()] = requests;
  assert.deepEqual([request.tenant, request.atomic, request.once], ['*', true, key]);
  const { records = [], drafts } = request;
  assert.deepEqual(result, { status: 'Done', records, outcomes: [] });
  assert.deepEqual(
    records.map(({ owner, id, version }) => [owner, id, version]),
    [
      ['*', one.id, 1],
      ['*', two.id, 7],
    ],
  );
  assert.ok(records.every((record) => macs.isGenuine(record)));
  assert.equal(drafts.length, 2);
  assert.notEqual(drafts[0]!.eventId, drafts[1]!.eventId);
  for (const [i, record] of records.entries()) {
    assert.equal(drafts[i]!.kind, KINDS.administration);
    const { payload } = noticeIn(request, i);
    assert.equal(payload['commitment'], commitmentOfRecord(record));
    assert.deepEqual(payload['subjectIds'], [record.id]);
  }
});

test('what is refused is the answer, and what was read before is forgotten all the same', async () => {
  const refusals: (AppendResult | ChangeRefusal)[] = [
    { status: 'Stale', id: 'x', version: 2 },
    { status: 'NameTaken', uniqueName: 'first' },
    { status: 'KeyReused' },
    { status: 'Repeated', used: USED },
  ];
  for (const refusal of refusals) {
    const { steps, change } = setUp(() => refusal);
    const request = { owner: 'acme', writes: [writeOf(ID)], correlationId: 'order-7' };
    assert.deepEqual(await change(request), refusal);
    assert.equal(steps.at(-1), 'changed');
  }
});

test('where nobody knows whether it was done, what was read before is forgotten', async () => {
  const { steps, change } = setUp(() => {
    throw new Error('the connection broke');
  });
  await assert.rejects(change({ owner: 'acme', writes: [writeOf(ID)], correlationId: '' }), /broke/);
  assert.equal(steps.at(-1), 'changed');
});

test('the records of a change, or why there are none; a repeat elsewhere is asked for again', () => {
  const stale: ChangeResult = { status: 'Stale', id: 'x', version: 2 };
  const taken: ChangeResult = { status: 'NameTaken', uniqueName: 'first' };
  assert.deepEqual(recordsOf({ status: 'Done', records: [] }), []);
  assert.equal(recordsOf(stale), stale);
  assert.equal(recordsOf(taken), taken);
  const elsewhere: ChangeResult[] = [{ status: 'KeyReused' }, { status: 'Repeated', used: USED }];
  for (const result of elsewhere) assert.throws(() => recordsOf(result), { code: 'SERVICE_UNAVAILABLE' });
});
