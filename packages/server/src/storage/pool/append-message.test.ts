import assert from 'node:assert/strict';
import { test } from 'node:test';
import * as fc from 'fast-check';
import { AuditError } from '@tallystick/contract';
import type { StoredRecord } from '../../records/records.ts';
import type { CausedJob } from '../../work/jobs.ts';
import type {
  AppendFault,
  AppendOutcome,
  AppendRequest,
  AppendResult,
  Draft,
  DraftOutcome,
} from '../../streams/log.ts';
import { nextId } from '../conformance/claims.ts';
import { decodePool, encodePool } from './append-message.ts';
import { decodeResults, encodeResults } from './append-results.ts';
import { decodeOutcomes, encodeOutcomes } from './outcomes.ts';
import { CLASSIFICATIONS } from '../rows/classification-column.ts';

const SEED = 20260101;
/** Ordinary objects, as the server creates them. */
const record = <T>(fields: { [K in keyof T]: fc.Arbitrary<T[K]> }) =>
  fc.record<T>(fields, { noNullPrototype: true });
const whole = fc.nat({ max: Number.MAX_SAFE_INTEGER });
const text = fc.oneof(
  fc.string({ unit: 'grapheme' }),
  fc.constantFrom('', 'ž'.repeat(40_000), 'a'.repeat(200_000), '\u{1f600}'.repeat(30_000)),
);
const bytes = text.map((any) => new TextEncoder().encode(any));
const fingerprint = fc.uint8Array({ minLength: 64, maxLength: 64 });
const classification = fc.constantFrom(...CLASSIFICATIONS);
const eventId = fc.constant(null).map(() => nextId());
const draft: fc.Arbitrary<Draft> = record({
  kind: fc.constantFrom(1, 2, 9),
  eventId,
  texts: fc.tuple(bytes, bytes),
  classification,
  retention: fc.constantFrom(undefined, 'P7Y', 'P7Y', 'P1Y2M3DT4H5M6.789S'),
  sentFingerprint: fc.option(fingerprint, { nil: undefined }),
  decidedBy: fc.option(text, { nil: undefined }),
});
const stored: fc.Arbitrary<StoredRecord> = record({
  owner: fc.constantFrom('acme', '*'),
  kind: fc.constantFrom('ApiKey', 'LegalHold', 'Policy', 'Tenant'),
  id: text,
  version: whole,
  body: text,
  state: text,
  uniqueName: fc.option(text, { nil: undefined }),
  lookup: fc.option(bytes, { nil: undefined }),
  salt: bytes,
  mac: bytes,
});
const caused: fc.Arbitrary<CausedJob> = record({
  jobId: text,
  kind: fc.constantFrom('Rebuild', 'Verification'),
  lane: text,
  dueInMs: fc.nat(),
  body: text,
});
const request: fc.Arbitrary<AppendRequest> = record({
  records: fc.array(stored, { maxLength: 2 }),
  jobs: fc.array(caused, { maxLength: 2 }),
  holdsAsOf: fc.option(text, { nil: undefined }),
  tenant: fc.constantFrom('acme', 'other'),
  atomic: fc.boolean(),
  drafts: fc.array(draft, { maxLength: 5 }),
  clearance: fc.oneof(classification, fc.constant('None' as const)),
  once: fc.option(
    record({
      operation: fc.constantFrom('events.ingest', 'events.ingestBatch'),
      key: text,
      fingerprint,
      classification,
      expiresAtMs: whole,
      note: text,
    }),
    { nil: undefined },
  ),
});
const outcome: fc.Arbitrary<DraftOutcome> = fc.oneof(
  record({ status: fc.constantFrom('Appended', 'Duplicate'), eventId, index: whole, receivedAtMs: whole }),
  record({ status: fc.constantFrom('Conflict', 'NotAppended'), eventId }),
);

test('a pool survives encoding and decoding, also in a reused buffer', () => {
  let room: ArrayBuffer | undefined;
  fc.assert(
    fc.property(fc.array(request, { maxLength: 4 }), whole, whole, (requests, nowMs, steadyNowMs) => {
      room = encodePool(requests, { nowMs, steadyNowMs }, room);
      const pool = decodePool(room);
      assert.deepEqual(pool.now, { nowMs, steadyNowMs });
      const back = pool.requests.map(({ drafts, records, ...rest }) => ({
        ...rest,
        records: records.map((one) => ({
          ...one,
          lookup: one.lookup && new Uint8Array(one.lookup),
          salt: new Uint8Array(one.salt),
          mac: new Uint8Array(one.mac),
        })),
        drafts: drafts.map((one) => ({
          ...one,
          classification: CLASSIFICATIONS[one.classification],
          texts: one.texts.map((bytes) => new Uint8Array(bytes)),
        })),
      }));
      assert.deepEqual(back, requests);
    }),
    { seed: SEED, numRuns: 200 },
  );
});

test('results survive encoding and decoding', () => {
  const result = fc.oneof(
    fc.array(outcome, { maxLength: 5 }).map((outcomes): AppendResult => ({ status: 'Done', outcomes })),
    record({ status: fc.constantFrom('KeyReused', 'HoldsChanged') }) as fc.Arbitrary<AppendOutcome>,
    fc.tuple(fc.string(), fc.string({ minLength: 1 })).map(
      ([message, cause]): AppendFault => ({
        status: 'Faulty',
        error: new Error(message, { cause: new Error(`because ${cause}`) }),
      }),
    ),
    fc.string().map((message): AppendFault => {
      const error = new AuditError('SERVICE_UNAVAILABLE', message);
      return { status: 'Faulty', error };
    }),
    record({
      fingerprint,
      classification,
      expiresAtMs: whole,
      note: text,
      outcomes: fc.array(outcome, { maxLength: 5 }),
    }).map((used): AppendResult => ({ status: 'Repeated', used })),
  );
  fc.assert(
    fc.property(fc.array(result, { maxLength: 6 }), fc.nat({ max: 100 }), (results, roomBytes) => {
      // Only the ids and the number of drafts matter.
      const requests = results.map((one) => ({
        drafts: 'outcomes' in one ? one.outcomes : [],
      })) as unknown as AppendRequest[];
      assert.deepEqual(decodeResults(encodeResults(results, new ArrayBuffer(roomBytes)), requests), results);
    }),
    { seed: SEED, numRuns: 300 },
  );
});

test('outcomes that are kept with a key are read as they were written', () => {
  fc.assert(
    fc.property(fc.array(outcome, { maxLength: 20 }), (outcomes) => {
      assert.deepEqual(decodeOutcomes(encodeOutcomes(outcomes)), outcomes);
    }),
    { seed: SEED, numRuns: 300 },
  );
  assert.throws(() => decodeOutcomes(new Uint8Array(33).fill(9)), /unknown status 9/);
});
