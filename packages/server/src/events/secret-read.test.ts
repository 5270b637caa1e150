import assert from 'node:assert/strict';
import { test } from 'node:test';
import { parseJson } from '@tallystick/evidence';
import { createFakeClock } from '../testing/fake-clock.ts';
import type { AppendRequest } from '../streams/log.ts';
import { createTelemetry } from '../telemetry.ts';
import { CORRELATION, testCall } from '../testing/test-call.ts';
import { noteSecretsRead } from './secret-read.ts';

const IDS = ['01KE0000000000000000000001', '01KE0000000000000000000002'] as const;

/** The log takes what it is given. */
function setUp() {
  const clock = createFakeClock();
  const appended: AppendRequest[] = [];
  const lines: unknown[] = [];
  const telemetry = createTelemetry({
    clock,
    level: 'Info',
    form: 'json',
    secrets: [],
    write: (line) => void lines.push(parseJson(line)),
  });
  const sequencer = {
    append: (request: AppendRequest) => {
      appended.push(request);
      return Promise.resolve({ status: 'Done', outcomes: [] } as const);
    },
  };
  const ids = { nextId: () => '01KE0000000000000000000009', uuid: () => CORRELATION.correlationId };
  return { parts: { sequencer, clock, ids, telemetry }, appended, lines };
}

test('who read secrets is told to the operator, by the request that the notice names', async () => {
  const { parts, appended, lines } = setUp();
  const seen = [...IDS, IDS[0]].map((eventId) => ({ eventId, classification: 'Secret' }) as const);
  await noteSecretsRead(testCall(), seen, parts);
  const [{ tenant, drafts } = assert.fail()] = appended;
  const texts = drafts[0]!.texts.map((text) => Buffer.from(text).toString()).join();
  assert.equal(tenant, 'acme');
  assert.ok(texts.includes(CORRELATION.requestId) && !texts.includes('key:'), texts);
  assert.deepEqual(lines, [
    {
      time: '2026-01-01T00:00:00.000Z',
      level: 'Info',
      message: 'secret events are read',
      tenant: 'acme',
      requestId: CORRELATION.requestId,
      caller: 'key:01KE0000000000000000000042',
      count: 2,
    },
  ]);
});

test('what is no secret is read without a notice', async () => {
  const { parts, appended, lines } = setUp();
  await noteSecretsRead(testCall(), [{ eventId: IDS[0], classification: 'Confidential' }], parts);
  assert.deepEqual([appended, lines], [[], []]);
});
