import assert from 'node:assert/strict';
import { test } from 'node:test';
import { encodeEvent } from '@tallystick/evidence';
import * as fc from 'fast-check';
import { createUlids } from '../runtime/ids.ts';
import { createFakeClock } from '../testing/fake-clock.ts';
import { createSystemRandom } from '../runtime/random.ts';
import { EVENT, EVENT_ID } from '../testing/bound-operations.ts';
import { createTestValidateEvent, parsedEvent } from '../testing/test-validate-event.ts';
import { CORRELATION, TENANT, testCall } from '../testing/test-call.ts';
import { Fingerprints } from '../fingerprints.ts';
import type { Draft } from '../streams/log.ts';
import { acceptanceOf, decisionOn, draftOf } from './draft.ts';

const UUID = '7d3f0c52-6a3e-4b51-9a0e-2f6b1f3c9d11';
const NEW_UUID = '00000000-0000-4000-8000-000000000000';
const validateEvent = createTestValidateEvent();
const nextId = createUlids(createFakeClock(), createSystemRandom());
const ids = { nextId, uuid: () => NEW_UUID };

const draft = (event: unknown, call = testCall(), tenant = TENANT) => {
  const fingerprints = new Fingerprints(tenant, call.caller!);
  const parsed = parsedEvent(validateEvent, event);
  const acceptance = acceptanceOf(call, tenant, 0);
  const made = draftOf(parsed, acceptance, decisionOn(parsed, acceptance), ids, fingerprints);
  fingerprints.finish();
  return made;
};
const textsOf = (made: Draft) => made.texts.map((text) => Buffer.from(text).toString());
const factsOf = (event: unknown, call = testCall(), tenant = TENANT) =>
  JSON.parse(textsOf(draft(event, call, tenant))[0]!) as Record<string, unknown>;

test('what is hashed has exactly the fields of the format, with what the service decided', () => {
  const made = draft({ ...EVENT, tenantId: 'acme', payload: { z: 1, a: [] } });
  const { classification, kind, sentFingerprint, ...rest } = made;
  const texts = textsOf(made);
  assert.equal(
    texts[0],
    '{"action":"Delete.Invoice","actor":{"actorType":"User","userId":"u-1"},"classification":"Internal",' +
      `"correlationId":"${UUID}","outcome":"Success","resource":{"resourceId":"INV-42","resourceType":"Invoice"},` +
      '"submittedBy":"key:01KE0000000000000000000042","timestamp":"2026-01-02T03:04:05.000Z"}',
  );
  assert.equal(texts[1], '{"payload":{"a":[],"z":1}}');
  assert.deepEqual([classification, kind, sentFingerprint], ['Internal', 1, undefined]);
  assert.equal(rest.retention, 'P7Y');
});

const name = fc.string({ minLength: 1, maxLength: 40, unit: 'binary' }).filter((text) => text.isWellFormed());
const content = fc.dictionary(
  name,
  fc.jsonValue({ maxDepth: 3, noUnicodeString: false }) as fc.Arbitrary<unknown>,
);
const anyEvent = fc.record(
  {
    timestamp: fc.constant(EVENT.timestamp),
    actor: fc.record(
      { actorType: fc.constant('User'), userId: name, userName: name },
      { requiredKeys: ['actorType'] },
    ),
    action: fc.constant('Delete.Invoice'),
    resource: fc.record(
      { resourceType: name, resourceId: name, resourceName: name },
      { requiredKeys: ['resourceType', 'resourceId'] },
    ),
    context: content,
    payload: content,
    outcome: fc.constantFrom('Success', 'Denied'),
    classification: fc.constantFrom('Public', 'Secret'),
  },
  { requiredKeys: ['timestamp', 'actor', 'action', 'resource'] },
);

test('the two texts are, byte for byte, what the format makes of the event', () => {
  fc.assert(
    fc.property(anyEvent, (event) => {
      const texts = textsOf(draft(event));
      const [facts, rest] = texts.map((text) => JSON.parse(text) as Record<string, unknown>);
      const encoded = encodeEvent({ ...facts, ...rest });
      assert.deepEqual(
        texts,
        encoded.map(({ bytes }) => Buffer.from(bytes).toString('utf8')),
      );
    }),
  );
});

test("an event's correlation is its own, else the request's where that is a UUID, else a new one", () => {
  const own = 'AAAAAAAA-0000-4000-8000-000000000001';
  assert.equal(factsOf({ ...EVENT, correlationId: own })['correlationId'], own, 'as it was sent');
  assert.equal(factsOf(EVENT)['correlationId'], UUID);
  const idUnder = (correlationId: string) => {
    const correlation = { ...CORRELATION, correlationId, correlationIsGiven: true };
    return factsOf(EVENT, testCall({ correlation }))['correlationId'];
  };
  assert.equal(idUnder(UUID), UUID);
  assert.equal(idUnder('order-42'), NEW_UUID);
});

test('the classification is that of the tenant, raised by the hint', () => {
  const secretive = { ...TENANT, defaultClassification: 'Confidential' } as const;
  assert.equal(
    draft({ ...EVENT, classification: 'Public' }, testCall(), secretive).classification,
    'Confidential',
  );
  assert.equal(
    factsOf({ ...EVENT, classification: 'Secret' }, testCall(), secretive)['classification'],
    'Secret',
  );
});

test("a client's own id is kept, and its fields are known again by a fingerprint that only this tenant can make", () => {
  const sent = { ...EVENT, eventId: EVENT_ID };
  const first = draft(sent);
  assert.equal(first.eventId, EVENT_ID);
  assert.equal(first.sentFingerprint?.length, 64);
  const same = [
    { ...sent, payload: null },
    { eventId: EVENT_ID, ...EVENT },
  ];
  for (const again of same) assert.deepEqual(draft(again).sentFingerprint, first.sentFingerprint);
  const other = [
    { ...sent, payload: {} },
    { ...sent, outcome: 'Success' },
    { ...sent, timestamp: '2026-01-02T03:04:05.000Z' },
  ];
  for (const event of other) assert.notDeepEqual(draft(event).sentFingerprint, first.sentFingerprint);
  const { caller } = testCall();
  const byOther = draft(sent, testCall({ caller: { ...caller!, identity: 'key:other' } }));
  const halves = (made: Draft) => [0, 32].map((at) => made.sentFingerprint?.subarray(at, at + 32));
  assert.deepEqual(halves(byOther)[0], halves(first)[0], 'the same was sent');
  assert.notDeepEqual(halves(byOther)[1], halves(first)[1], 'by somebody else');
  const elsewhere = { ...TENANT, fingerprintKey: new Uint8Array(32).fill(9) };
  assert.notDeepEqual(draft(sent, testCall(), elsewhere).sentFingerprint, first.sentFingerprint);
  assert.notEqual(draft(EVENT).eventId, draft(EVENT).eventId);
});
