// Consumers of webhooks, each an origin of its own: they answer 200 after some milliseconds, and some of them never. Prints their
// ports; for each line on stdin what they got since the line before: how many, over which time, and how long after an event was received.

import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { createInterface } from 'node:readline';

export interface ConsumersSeen {
  readonly count: number;
  /** From the first to the last. */
  readonly spanMs: number;
  /** Of those of consumers that answer, in milliseconds. */
  readonly p50: number;
  readonly p99: number;
}

const { count, answerMs } = JSON.parse(process.argv[2]!) as { count: number; answerMs: number };
/** Origins from this number on hang. */
let hangFrom = count;
let lags: number[] = [];
let got = 0;
let firstMs = 0;
let lastMs = 0;

const RECEIVED_AT = /"receivedAt":"([^"]+)"/;

const servers = Array.from({ length: count }, (_, number) =>
  createServer((request, response) => {
    const chunks: Buffer[] = [];
    request.on('data', (chunk: Buffer) => chunks.push(chunk));
    request.on('end', () => {
      if (number >= hangFrom) return;
      lastMs = Date.now();
      if (got++ === 0) firstMs = lastMs;
      const receivedAt = RECEIVED_AT.exec(Buffer.concat(chunks).toString('latin1'))?.[1];
      if (receivedAt !== undefined) lags.push(lastMs - Date.parse(receivedAt));
      setTimeout(() => response.writeHead(200).end(), answerMs);
    });
  }),
);
await Promise.all(servers.map((server) => new Promise<void>((done) => server.listen(0, '127.0.0.1', done))));
say(servers.map((server) => (server.address() as AddressInfo).port));

for await (const line of createInterface({ input: process.stdin })) {
  if (line.startsWith('hang ')) hangFrom = Number(line.slice('hang '.length));
  const sorted = lags.toSorted((a, b) => a - b);
  const at = (share: number) => sorted[Math.floor(share * (sorted.length - 1))] ?? 0;
  say({ count: got, spanMs: lastMs - firstMs, p50: at(0.5), p99: at(0.99) } satisfies ConsumersSeen);
  if (line === 'look') continue;
  lags = [];
  got = 0;
}
process.exit(0);

function say(value: unknown): void {
  process.stdout.write(`${JSON.stringify(value)}\n`);
}
