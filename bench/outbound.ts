// The guarded client: what one exchange costs it in time of a processor, over a kept connection and plain http, beside what it
// costs Node's own client with its own agent, which judges nothing and has no deadline. The consumer is a process of its own.

import { fork } from 'node:child_process';
import { once } from 'node:events';
import { Agent, request } from 'node:http';
import { join } from 'node:path';
import { anyButMetadata } from '../packages/server/src/outbound/http/address-rules.ts';
import { createOutboundHttp } from '../packages/server/src/outbound/http/guarded-http.ts';
import { systemClock } from '../packages/server/src/runtime/clock.ts';
import { type Benchmark, median, type Row } from './measure.ts';

const ROUNDS = 25;
const EXCHANGES = 2000;
const AT_ONCE = 20;
const BODY = Buffer.alloc(1024, 'x');
/** As many as a webhook has. */
const HEADERS = Object.fromEntries(
  ['X-Audit-Signature', 'X-Audit-Webhook-Id', 'webhook-id', 'webhook-timestamp', 'webhook-signature'].map(
    (name) => [name, name.repeat(3)],
  ),
);

export const benchmark: Benchmark = {
  name: 'outbound',
  title: `${EXCHANGES} POSTs of ${BODY.length} bytes, ${AT_ONCE} at once; time of a processor for each`,
  run: async () => {
    const consumer = fork(join(import.meta.dirname, 'processes/answering.ts'), {
      execArgv: ['--conditions=source'],
    });
    const [port] = (await once(consumer, 'message')) as [number];
    const agent = new Agent({ keepAlive: true });
    using http = createOutboundHttp({ clock: systemClock, https: anyButMetadata, http: anyButMetadata });
    const url = `http://127.0.0.1:${port}/hook`;
    try {
      const [guarded, plain] = await microsecondsOf([
        () =>
          http.send({
            url,
            method: 'POST',
            headers: HEADERS,
            body: BODY,
            answerBytesMax: 65_536,
            timeoutMs: 10_000,
          }),
        () => postBy(agent, url),
      ]);
      return [row('guarded client', guarded!, plain), row("Node's client and agent", plain!)];
    } finally {
      agent.destroy();
      consumer.kill();
    }
  },
};

/** Of each, in turns. */
async function microsecondsOf(posts: readonly (() => Promise<unknown>)[]): Promise<number[][]> {
  const seen = posts.map((): number[] => []);
  // The first round only warms up.
  for (let round = 0; round <= ROUNDS; round++) {
    for (const [i, post] of posts.entries()) {
      const before = process.cpuUsage();
      await Promise.all(Array.from({ length: AT_ONCE }, () => repeat(post, EXCHANGES / AT_ONCE)));
      const { user, system } = process.cpuUsage(before);
      if (round > 0) seen[i]!.push((user + system) / EXCHANGES);
    }
  }
  return seen;
}

async function repeat(post: () => Promise<unknown>, times: number): Promise<void> {
  for (let i = 0; i < times; i++) await post();
}

function postBy(agent: Agent, url: string): Promise<number> {
  return new Promise((resolve, reject) => {
    const sent = request(url, { agent, method: 'POST', headers: HEADERS }, (answer) => {
      answer.resume();
      answer.on('end', () => resolve(answer.statusCode!));
    });
    sent.on('error', reject);
    sent.end(BODY);
  });
}

function row(name: string, measured: readonly number[], peer?: readonly number[]): Row {
  const best = Math.min(...measured);
  return {
    name,
    figure: `${best.toFixed(1)} µs`,
    ...(peer && {
      against: "Node's client",
      ratio: best / Math.min(...peer),
      medianRatio: median(measured.map((each, i) => each / peer[i]!)),
      goal: '≤ 60 µs',
    }),
  };
}
