import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer, type IncomingMessage, request as ask } from 'node:http';
import type { AddressInfo } from 'node:net';
import { test } from 'node:test';
import { createFakeClock } from '../../testing/fake-clock.ts';
import { BodyBudget } from './body-budget.ts';
import { readBytes } from './body-bytes.ts';

test('how long a sender took is told apart, where its body was waited for', async () => {
  const clock = createFakeClock();
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  const sent = ask({ port, host: '127.0.0.1', method: 'POST', headers: { 'content-length': 4 } });
  sent.on('error', () => {});
  try {
    sent.write('{"');
    const [request] = (await once(server, 'request')) as [IncomingMessage];
    const tookNs: number[] = [];
    const reading = readBytes(
      { request, sender: 'acme', onSent: (spanNs) => tookNs.push(spanNs) },
      { bytesMax: 100, timeoutMs: 35_000 },
      { clock, budget: new BodyBudget(1000) },
    );
    await clock.advance(5000);
    sent.end('a"');
    assert.equal(Buffer.from(await reading).toString(), '{"a"');
    assert.deepEqual(tookNs, [5e9]);
  } finally {
    sent.destroy();
    server.closeAllConnections();
    server.close();
  }
});
