// `npm test`: Node's own runner over groups of test files, each group in a process of its own (groups.ts). It reports like
// `node --test`, with one summary of all tests. Arguments are parts of the paths of the files to run.

import { once } from 'node:events';
import { availableParallelism } from 'node:os';
import { run } from 'node:test';
import { spec } from 'node:test/reporters';
import { groupTests } from './groups.ts';
import { globalSetup, globalTeardown } from './main.ts';
import { lap } from './times.ts';

const interrupted = new AbortController();
for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => interrupted.abort());

try {
  process.env['TALLYSTICK_TEST_RUNNER'] = String(process.pid);
  await globalSetup();
  lap('setup');
  const tests = run({
    files: groupTests(process.argv.slice(2)),
    // Two more than there are cores: some files wait most of the time.
    concurrency: availableParallelism() + 2,
    signal: interrupted.signal,
  });
  tests.on('test:fail', () => (process.exitCode = 1));
  const report = tests.compose(spec);
  report.pipe(process.stdout);
  await once(report, 'end');
} finally {
  await globalTeardown();
  lap('all of the above, and the PostgreSQL that they shared');
}
