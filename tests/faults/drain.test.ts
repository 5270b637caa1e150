// P15: SIGTERM under load. Every request that was taken gets its answer, no connection is reset under one, what was
// acknowledged is there, and the process is gone with exit code 0 within 30 seconds. Connections on which nothing is
// asked hold it up for a moment only.

import assert from 'node:assert/strict';
import { connect, type Socket } from 'node:net';
import { join } from 'node:path';
import { test } from 'node:test';
import { acknowledgedIn, Client, event } from './client.ts';
import { readLog } from './read-log.ts';
import { KEY, type Service, startService, temporaryFolder } from './running.ts';
import { SIZE } from './size.ts';

const CLIENTS = 16;
const EXIT_MS_MAX = 30_000;
const QUIET_EXIT_MS_MAX = 5000;
/** For how long a stop leaves connections open on which nothing is asked, at least. */
const IDLE_GRACE_MS = 1000;

test(`${SIZE.drains} times: a stop under load answers everybody and loses nothing`, async (t) => {
  using folder = temporaryFolder();
  const dataDirectory = join(folder.path, 'data');
  const acknowledged: string[] = [];
  let slowestMs = 0;
  for (let round = 0; round < SIZE.drains; round++) {
    await using service = await startService({ dataDirectory });
    let stoppedAt = Infinity;
    const failures: string[] = [];
    const one = async (number: number) => {
      using client = new Client(service.url, 1);
      for (let i = 0; ; i++) {
        let sentAt = Infinity;
        const onSent = () => (sentAt = performance.now());
        try {
          const reply = await client.ask({ body: event(`${round}-${number}-${i}`), onSent });
          assert.equal(reply.status, 201, JSON.stringify(reply.body));
          acknowledged.push(...acknowledgedIn(reply));
          // A client that is told to close asks again on a new connection, which nobody accepts any more.
          if (reply.headers['connection'] === 'close') return;
        } catch (error) {
          const { code } = error as { code?: string };
          const isLate =
            (code === 'ECONNREFUSED' && performance.now() > stoppedAt) ||
            // Nobody is promised a connection on which nothing was asked for so long, by a client without time for it.
            (code === 'ECONNRESET' && sentAt > stoppedAt + IDLE_GRACE_MS);
          if (!isLate) failures.push(`${String(code)} ${String(error)}`);
          return;
        }
      }
    };
    const asking = Promise.all(Array.from({ length: CLIENTS }, (_, number) => one(number)));
    await new Promise((resolve) => setTimeout(resolve, 100 + Math.random() * 200));
    stoppedAt = performance.now();
    service.kill('SIGTERM');
    assert.equal(await service.ended, 0);
    slowestMs = Math.max(slowestMs, performance.now() - stoppedAt);
    await asking;
    assert.deepEqual(failures, []);
  }
  assert.ok(slowestMs < EXIT_MS_MAX, `${slowestMs} ms`);
  const found = new Set((readLog(dataDirectory).get('acme') ?? []).map(({ eventId }) => eventId));
  assert.deepEqual(
    acknowledged.filter((id) => !found.has(id)),
    [],
  );
  t.diagnostic(
    `${SIZE.drains} stops, ${acknowledged.length} acknowledged, slowest exit ${Math.round(slowestMs)} ms`,
  );
});

/** What the clients of a crowd send, each to hold its connection as long as it can. */
const CROWD: [what: string, sent: string, answer: string | undefined][] = [
  ['says nothing', '', undefined],
  ['was answered', 'GET /health/live HTTP/1.1\r\nHost: a\r\n\r\n', ' 200 '],
  ['is no HTTP', 'hello\r\n\r\n', ' 400 '],
  ['wants a tunnel', 'CONNECT x:443 HTTP/1.1\r\nHost: a\r\n\r\n', ' 404 '],
  ['breaks off in a head', 'POST /api/v1/audit-events HTTP/1.1\r\nHost: a\r\nX-A: ', undefined],
  ['is a stranger', 'POST /api/v1/audit-events HTTP/1.1\r\nHost: a\r\nContent-Length: 99\r\n\r\n{', ' 401 '],
  [
    'sends too much',
    `POST /api/v1/audit-events HTTP/1.1\r\nHost: a\r\nX-API-Key: ${KEY}\r\nX-Tenant-Id: acme\r\n` +
      'Content-Length: 99999999\r\n\r\n{',
    ' 400 ',
  ],
];
const CROWD_SIZE = 70;

async function exitMsOf(service: Service): Promise<number> {
  const stoppedAt = performance.now();
  service.kill('SIGTERM');
  assert.equal(await service.ended, 0);
  return performance.now() - stoppedAt;
}

test(`${CROWD_SIZE} connections that are idle or were refused hold up a stop for under ${QUIET_EXIT_MS_MAX / 1000} seconds`, async (t) => {
  using folder = temporaryFolder();
  const start = () => startService({ dataDirectory: join(folder.path, 'data') });
  let quietMs: number;
  {
    await using quiet = await start();
    quietMs = await exitMsOf(quiet);
  }
  await using service = await start();
  const sockets: Socket[] = [];
  try {
    for (let i = 0; i < CROWD_SIZE; i++) {
      const [what, sent, answer] = CROWD[i % CROWD.length]!;
      const socket = connect({ port: service.port, host: '127.0.0.1', allowHalfOpen: true });
      socket.on('error', () => {});
      sockets.push(socket);
      const received = new Promise<string>((resolve) =>
        socket.once('data', (chunk) => resolve(String(chunk))),
      );
      await new Promise((resolve) => socket.once('connect', resolve));
      socket.write(sent);
      if (answer !== undefined) assert.ok((await received).includes(answer), what);
    }
    const tookMs = await exitMsOf(service);
    t.diagnostic(`exit after ${Math.round(tookMs)} ms, ${Math.round(quietMs)} ms without anybody`);
    assert.ok(tookMs - quietMs < QUIET_EXIT_MS_MAX, `${tookMs} ms, ${quietMs} ms without anybody`);
  } finally {
    for (const socket of sockets) socket.destroy();
  }
});
