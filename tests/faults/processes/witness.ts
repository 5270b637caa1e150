// The witness without the rest of the command, to be started often; or, as the control of the kill test, with its
// safeguard taken away: it answers first and stores a moment later.

import { parseArgs } from 'node:util';
import type { Head, Heads } from '../../../packages/cli/src/witness/heads.ts';
import { belowLine } from '../../../packages/cli/src/witness/logs.ts';
import { runWitness } from '../../../packages/cli/src/witness/run-witness.ts';
import { systemClock } from '../../../packages/server/src/runtime/clock.ts';

const STORE_AFTER_MS = 100;

const { values, positionals } = parseArgs({
  options: { data: { type: 'string' }, name: { type: 'string' }, port: { type: 'string' } },
  allowPositionals: true,
});
const [, prefix = '', key = '', order] = positionals;

function answersFirst(heads: Heads): Heads {
  const early = new Map<string, Head>();
  const latest = (origin: string) => early.get(origin) ?? heads.latest(origin);
  return {
    ...heads,
    latest,
    advance(from, next) {
      if (latest(next.origin)?.size !== from?.size) return false;
      early.set(next.origin, next);
      setTimeout(() => heads.advance(heads.latest(next.origin), next), STORE_AFTER_MS);
      return true;
    },
  };
}

process.exitCode = await runWitness({
  directory: values.data!,
  name: values.name!,
  host: '127.0.0.1',
  port: Number(values.port),
  lines: [belowLine(prefix, key, 'the test')],
  clock: systemClock,
  ...(order === 'answer first' ? { headsOver: answersFirst } : {}),
});
