// A listener of HTTP/2 without bounds on resets, whose calls cost a little of its only thread. For the control of the test of
// hostile frames alone.

import { createServer } from 'node:http';
import { createServer as createHttp2Server } from 'node:http2';
import type { AddressInfo } from 'node:net';

const CALL_MS = 5;
const MANY = 1_000_000;

const calls = createHttp2Server({
  streamResetBurst: MANY,
  streamResetRate: MANY,
  maxSessionRejectedStreams: MANY,
  maxSessionInvalidFrames: MANY,
  maxSessionMemory: MANY,
});
calls.on('stream', (stream) => {
  stream.on('error', () => {});
  for (const endMs = performance.now() + CALL_MS; performance.now() < endMs; );
});
calls.on('sessionError', () => {});
const probed = createServer((_, response) => response.end('{}'));

await new Promise<void>((resolve) => calls.listen(0, '127.0.0.1', resolve));
await new Promise<void>((resolve) => probed.listen(0, '127.0.0.1', resolve));
const portOf = (server: { address(): unknown }) => (server.address() as AddressInfo).port;
process.stderr.write(`gRPC is served "http://127.0.0.1:${portOf(calls)}"\n`);
process.stdout.write(`address http://127.0.0.1:${portOf(probed)}\n`);
