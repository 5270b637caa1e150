import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import type { StreamEvent } from '@tallystick/contract';
import { adminCaller, callerOf, PLATFORM_KEY, WITH_PLATFORM_KEY } from '../../testing/admin-caller.ts';
import { ask } from '../../testing/ask.ts';
import { sequencesOf, tailing, tailMount } from '../../testing/tail-mount.ts';
import { startTestApp, type TestApp } from '../../testing/test-app.ts';

let app: TestApp;
before(async () => {
  app = await startTestApp(WITH_PLATFORM_KEY, { mounts: (gateway) => [tailMount(gateway)] });
});
after(() => app[Symbol.asyncDispose]());

const take = sequencesOf;

test('a tail has what is there from a sequence on, then what comes, without a gap over a seal', async () => {
  const acme = adminCaller(app, 'acme');
  await acme.send(3);
  await using tail = await tailing(app, acme.key, 'acme', 2);
  assert.deepEqual(await take(tail, 2), [2, 3]);
  await acme.send(1);
  assert.deepEqual(await take(tail, 1), [4]);
  const { body } = (await acme.get('/api/v1/event-streams')) as { body: { data: { streamId: string }[] } };
  const { status } = await acme.post(`/api/v1/event-streams/${body.data[0]!.streamId}/seal`, {});
  assert.equal(status, 200);
  await acme.send(1);
  // The seal is an entry too.
  assert.deepEqual(await take(tail, 2), [5, 6]);

  await using old = await tailing(app, acme.key, 'acme', 1);
  assert.deepEqual(await take(old, 6), [1, 2, 3, 4, 5, 6]);
  await using next = await tailing(app, acme.key, 'acme');
  await acme.send(1);
  assert.deepEqual(await take(next, 1), [7]);
  assert.deepEqual(await take(tail, 1), [7]);
});

test('the tail of a log without events begins with its first', async () => {
  const empty = adminCaller(app, 'empty');
  await using tail = await tailing(app, PLATFORM_KEY, 'empty');
  await empty.send(1);
  assert.deepEqual(await take(tail, 1), [1]);
});

test('it shows what its caller may see, and ends when the credential is revoked', async () => {
  const reader = await callerOf(app, 'keys', ['Viewer']);
  const keys = adminCaller(app, 'keys');
  const { body } = (await keys.get('/api/v1/admin/api-keys')) as { body: { data: { keyId: string }[] } };
  await using tail = await tailing(app, reader.key, 'keys', 1);
  await keys.send(1);
  let entry: StreamEvent;
  do entry = (await tail.next()).value!;
  while (!('action' in entry) || entry.action !== 'Delete.Invoice');
  const { code } = await ask(app, 'DELETE', `/api/v1/admin/api-keys/${body.data[0]!.keyId}`, {
    key: PLATFORM_KEY,
    tenant: 'keys',
  });
  assert.match(code, /^20/);
  // The connection is cut, since the answer cannot say any more what is wrong.
  await assert.rejects(async () => {
    while ((await tail.next()).done !== true) continue;
  });
});

test('nobody without the permission has a tail, and none lasts when the service drains', async () => {
  await assert.rejects(tailing(app, 'unknown', 'acme'), /UNAUTHENTICATED/);
  const tail = await tailing(app, PLATFORM_KEY, 'acme', 1);
  await take(tail, 7);
  const ended = app[Symbol.asyncDispose]();
  assert.deepEqual(await tail.next(), { done: true, value: undefined });
  await ended;
});
