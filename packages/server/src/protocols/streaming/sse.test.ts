import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { TenantId } from '@tallystick/contract';
import { createFakeClock } from '../../testing/fake-clock.ts';
import { LastingAnswers } from './lasting-answers.ts';
import { sseBytes, type SseMessage } from './sse.ts';

const TENANT = 'acme' as TenantId;

function lastingOn(clock = createFakeClock()) {
  return { clock, lasting: new LastingAnswers(new AbortController().signal, clock).begin(TENANT) };
}

test('messages are written with their name, their id, and each line of their data', async () => {
  const { clock, lasting } = lastingOn();
  async function* messages(): AsyncGenerator<SseMessage> {
    yield { event: 'next', id: '7', data: '{"a":1}' };
    yield { data: 'one\ntwo\r\nthree\r' };
  }
  let text = '';
  for await (const bytes of sseBytes(messages(), lasting, clock)) text += Buffer.from(bytes).toString();
  assert.equal(
    text,
    ':\n\nevent: next\nid: 7\ndata: {"a":1}\n\ndata: one\ndata: two\ndata: three\ndata: \n\n',
  );
  assert.equal(clock.pending(), 0);
});

test('a comment goes out while there is nothing to tell, and a reader that goes ends the source', async () => {
  const { clock, lasting } = lastingOn();
  let hasEnded = false;
  const silent: AsyncIterable<SseMessage> = {
    [Symbol.asyncIterator]: () => ({
      next: () =>
        new Promise((resolve) => {
          lasting.signal.addEventListener('abort', () => resolve({ done: true, value: undefined }));
        }),
      return: () => {
        hasEnded = true;
        return Promise.resolve({ done: true, value: undefined });
      },
    }),
  };
  const bytes = sseBytes(silent, lasting, clock);
  await bytes.next();
  for (let i = 0; i < 2; i++) {
    const read = bytes.next();
    await clock.advance(15_000);
    assert.equal(Buffer.from((await read).value!).toString(), ':\n\n');
  }
  await bytes.return();
  assert.ok(hasEnded);
  assert.equal(lasting.signal.reason, 'Gone');
  assert.equal(clock.pending(), 0);
});

test('what fails in the source fails the answer', async () => {
  const { clock, lasting } = lastingOn();
  async function* failing(): AsyncGenerator<SseMessage> {
    yield { data: 'x' };
    throw new Error('no more');
  }
  await assert.rejects(async () => {
    for await (const bytes of sseBytes(failing(), lasting, clock)) assert.ok(bytes.length > 0);
  }, /no more/);
});
