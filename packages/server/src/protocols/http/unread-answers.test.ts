import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer, type ServerResponse } from 'node:http';
import { type AddressInfo, connect, type Socket } from 'node:net';
import { test } from 'node:test';
import { UnreadAnswers } from './unread-answers.ts';

/** More than the buffers of the system take. */
const ANSWER_BYTES = 16 * 1024 * 1024;

/** A server whose answers are held by these, and a way to ask it and not read on. */
async function serve(unread: UnreadAnswers) {
  const answers: ServerResponse[] = [];
  const server = createServer((_, response) => {
    response.end(Buffer.alloc(ANSWER_BYTES));
    unread.hold(response);
    answers.push(response);
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  const sockets: Socket[] = [];
  return {
    answers,
    async ask(): Promise<Socket> {
      const socket = connect(port, '127.0.0.1');
      sockets.push(socket);
      socket.on('error', () => {});
      socket.pause();
      const asked = once(server, 'request');
      socket.write('GET / HTTP/1.1\r\nHost: x\r\n\r\n');
      await asked;
      return socket;
    },
    async [Symbol.asyncDispose]() {
      for (const socket of sockets) socket.destroy();
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

test('when too much is unread, only the client that has held an answer longest is disconnected', async () => {
  await using server = await serve(new UnreadAnswers(2.5 * ANSWER_BYTES));
  const cut = () => server.answers.map(({ destroyed }) => destroyed);
  await server.ask();
  await server.ask();
  assert.deepEqual(cut(), [false, false]);
  await server.ask();
  assert.deepEqual(cut(), [true, false, false]);
  await server.ask();
  assert.deepEqual(cut(), [true, true, false, false]);
});

test('what was read counts no more, and what is larger than all may be is still given', async () => {
  await using server = await serve(new UnreadAnswers(1.5 * ANSWER_BYTES));
  const first = await server.ask();
  const read = once(server.answers[0]!, 'close');
  first.resume();
  await read;
  await server.ask();
  assert.deepEqual(
    server.answers.map(({ writableFinished }) => writableFinished),
    [true, false],
  );
  await using small = await serve(new UnreadAnswers(1));
  const only = await small.ask();
  only.resume();
  await once(small.answers[0]!, 'close');
  assert.equal(small.answers[0]!.writableFinished, true);
});
