// Notices are shown whole to every reader, even with the lowest clearance: otherwise their proofs would not hold.

import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { noteVerifier, parseEventProof, verifyEventProof } from '@tallystick/evidence';
import { EVENT } from '../testing/bound-operations.ts';
import { believeClearance, eventCaller } from '../testing/event-caller.ts';
import { finderOf } from '../testing/found-events.ts';
import { startTestApp, type TestApp } from '../testing/test-app.ts';

let app: TestApp;
let noticeId: string;
before(async () => {
  app = await startTestApp({ Log__CheckpointInterval: 'PT0.05S' }, { authenticate: believeClearance });
  const auditor = eventCaller(app);
  const { body } = await auditor.ingest({ ...EVENT, classification: 'Secret' });
  assert.equal((await auditor.get(body.eventId)).code, '200');
  await finderOf(app).caughtUp();
  const { body: notices } = await finderOf(app).list('kind=Notice');
  noticeId = notices.data[0]!.eventId;
});
after(() => app[Symbol.asyncDispose]());

test('the lowest clearance gets a notice whole, alone and in a list', async () => {
  const { body } = await eventCaller(app, 'acme', 'Public').get(noticeId);
  assert.equal(body.payload['act'], 'SecretEventsRead');
  assert.equal(Object.hasOwn(body, 'redaction'), false);
  const { body: listed } = await finderOf(app, 'acme', 'Public').list('kind=Notice');
  assert.deepEqual(listed.data.find(({ eventId }) => eventId === noticeId)?.payload, body.payload);
});

test('the proof of a notice holds for the lowest clearance', async () => {
  const headers = { 'X-API-Key': 'Public', 'X-Tenant-Id': 'acme' };
  const ask = async (path: string) => await (await fetch(`${app.url}/api/v1${path}`, { headers })).text();
  const proof = await ask(`/audit-events/${noticeId}/proof`);
  const key = await ask('/log/t/acme/key');
  const verdict = await verifyEventProof(parseEventProof(proof), {
    verifiers: [await noteVerifier(key.trim())],
  });
  assert.ok(verdict.whole);
});
