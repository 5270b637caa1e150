// Bodies that nobody thought of, through the whole service: every request is stored or refused, and none fails.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { asJson, EventDraft } from '@tallystick/contract';
import * as fc from 'fast-check';
import { EVENT } from '../testing/bound-operations.ts';
import { drawn } from '../testing/drawn-values.ts';
import { startEventsApp } from '../testing/events-app.ts';

const { acme } = startEventsApp();

const anyText = fc.string({ unit: 'binary', maxLength: 40 });
const anyValue = fc.anything({
  key: fc.oneof(fc.constantFrom('__proto__', 'actor', 'toString', 'a"b', '\ud800'), anyText),
  values: [anyText, fc.double(), fc.integer(), fc.boolean(), fc.constant(null)],
  maxDepth: 4,
});
const oddEvent = fc
  .dictionary(
    fc.constantFrom(...Object.keys(EVENT), 'payload', 'context', 'eventId', 'tenantId', 'correlationId', 'x'),
    anyValue,
  )
  .map((odd) => ({ ...EVENT, ...odd }));
const fullEvent = fc.dictionary(anyText, anyValue).map((payload) => ({ ...EVENT, payload }));
const anyEvent = fc.oneof(anyValue, oddEvent, fullEvent);

/** The text, with one character replaced now and then. */
const spoiled = (texts: fc.Arbitrary<string>) =>
  fc
    .tuple(
      texts,
      fc.option(fc.tuple(fc.nat(), fc.constantFrom('"', '\\', '{', ',', '0', '\u0000', '\ud800'))),
    )
    .map(([text, spot]) => {
      if (spot === null || text === '') return text;
      const at = spot[0] % text.length;
      return text.slice(0, at) + spot[1] + text.slice(at + 1);
    });
const textOf = (value: unknown) => JSON.stringify(value) ?? 'null';

const STATUSES = new Set([200, 201, 207, 400, 403, 409, 422]);

test('a single event is stored or refused', async () => {
  let stored = 0;
  await fc.assert(
    fc.asyncProperty(spoiled(anyEvent.map(textOf)), async (body) => {
      const seen = await acme.ingest(body);
      assert.ok(STATUSES.has(seen.status), `${seen.code} ${body}`);
      if (seen.status !== 201) return;
      stored += 1;
      assert.equal((await acme.get(seen.body.eventId)).status, 200);
    }),
    { numRuns: 400, seed: 20260102 },
  );
  assert.ok(stored > 10, `only ${stored} were stored, so little was tried`);
});

test('a batch is stored or refused, event by event, and the counts add up', async () => {
  const batch = fc.record(
    { events: fc.array(anyEvent, { maxLength: 5 }), transactional: fc.oneof(fc.boolean(), anyValue) },
    { requiredKeys: ['events'] },
  );
  await fc.assert(
    fc.asyncProperty(spoiled(batch.map(textOf)), async (body) => {
      const seen = await acme.ingestBatch(body);
      assert.ok(STATUSES.has(seen.status), `${seen.code} ${body}`);
      const { results, successCount, failureCount, totalCount } = seen.body;
      if (results === undefined) return;
      assert.equal(results.length, totalCount);
      assert.equal(successCount + failureCount, totalCount);
      assert.deepEqual(
        results.map(({ index }) => index),
        [...results.keys()],
      );
    }),
    { numRuns: 200, seed: 20260102 },
  );
});

test('an event of the schema is stored; under its own id it is a repeat, however it is read', async () => {
  let repeated = 0;
  const event = drawn(asJson(EventDraft)) as fc.Arbitrary<Record<string, unknown>>;
  await fc.assert(
    fc.asyncProperty(event, async (any) => {
      const sent = 'tenantId' in any ? { ...any, tenantId: 'acme' } : any;
      assert.equal((await acme.ingest(sent)).status, 201);
      if (!('eventId' in sent)) return;
      repeated += 1;
      // A null is absent, and makes validation parse the event.
      const absent = Object.fromEntries(
        ['context', 'payload', 'outcome'].filter((name) => !(name in sent)).map((name) => [name, null]),
      );
      for (const again of [sent, { ...absent, ...sent }, JSON.stringify(sent, null, 2)])
        assert.equal((await acme.ingest(again)).body.idempotent, true);
      assert.equal((await acme.ingest({ ...sent, action: 'Other.Action' })).status, 409);
    }),
    { numRuns: 150, seed: 20260117 },
  );
  assert.ok(repeated > 30, `only ${repeated} had an id`);
});
