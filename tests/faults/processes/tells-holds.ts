// The service, with a measure of how long it keeps its thread: on SIGUSR2 it writes the longest time that the thread worked
// since the last one, without a turn for others. Processor time, so that other processes do not count. It has two mounts
// more, without safeguards: one loads what GraphQL needs in one piece, one answers a document that nobody has measured.

import { text } from 'node:stream/consumers';
import { createGunzip } from 'node:zlib';
import type { Exchange, Mount } from '../../../packages/server/src/protocols/http/mount.ts';
import { serveWith } from './serve-with.ts';

const TURN_MS = 5;
let longestMs = 0;
let before = process.threadCpuUsage();

setInterval(() => {
  const { user, system } = process.threadCpuUsage(before);
  longestMs = Math.max(longestMs, (user + system) / 1000);
  before = process.threadCpuUsage();
}, TURN_MS);
process.on('SIGUSR2', () => {
  process.stderr.write(`held ${longestMs.toFixed(0)} ms\n`);
  longestMs = 0;
});

async function schemaAtOnce() {
  const [graphql, { sdlOf }] = await Promise.all([import('graphql'), import('@tallystick/contract/graphql')]);
  const { buildSchema, validateSchema } = graphql;
  for (const version of ['v1', 'v2'] as const) validateSchema(buildSchema(sdlOf(version)));
  return { ...graphql, schema: buildSchema(sdlOf('v2')) };
}

const mount = (prefix: string, work: (exchange: Exchange) => Promise<unknown>): Mount => ({
  prefix,
  standingHeaders: {},
  async handle(exchange) {
    await work(exchange);
    return { status: 200, headers: {}, body: '', coding: undefined };
  },
  refuse(error) {
    throw error;
  },
});

let made: ReturnType<typeof schemaAtOnce> | undefined;

await serveWith({
  mounts: () => [
    mount('/at-once', schemaAtOnce),
    mount('/unmeasured', async ({ request }) => {
      const { execute, parse, schema } = await (made ??= schemaAtOnce());
      const { query } = JSON.parse(await text(request.pipe(createGunzip()))) as { query: string };
      await execute({ schema, document: parse(query) });
    }),
  ],
});
