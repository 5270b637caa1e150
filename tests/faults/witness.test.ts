// A witness that is killed at any moment still knows everything that it has cosigned when it is started again: it never
// sends a cosignature of a checkpoint that it could forget.

import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { join } from 'node:path';
import { test } from 'node:test';
import { parseCheckpoint, parseNote } from '@tallystick/evidence';
import {
  type RunningWitness,
  startWitness,
  witnessFolder,
} from '../../packages/cli/src/testing/running-witness.ts';
import { type SampleLog, sampleLog } from '../../packages/cli/src/testing/sample-log.ts';
import { SIZE } from './size.ts';

const KILLS = SIZE.isLong ? 200 : 4;
const PREFIX = 'audit.example.com/t/';
const logs = await Promise.all(['a', 'b', 'c', 'd'].map((name) => sampleLog(PREFIX + name)));
const PROCESS = join(import.meta.dirname, 'processes/witness.ts');

/** The size of the largest checkpoint of each log whose cosignature was had. */
type Cosigned = Map<SampleLog, number>;

/** Lets a log grow by one entry at a time until no answer comes any more. */
async function growUntilKilled(
  witness: RunningWitness,
  log: SampleLog,
  from: number,
  onCosigned: (size: number) => void,
): Promise<void> {
  let oldSize = from;
  for (;;) {
    const size = oldSize + 1;
    const request = await log.request(oldSize, size);
    try {
      const { status, body } = await witness.add(request);
      assert.equal(status, 200, body);
    } catch (error) {
      if (error instanceof assert.AssertionError) throw error;
      return;
    }
    onCosigned(size);
    oldSize = size;
  }
}

async function storedSize(witness: RunningWitness, log: SampleLog): Promise<number | undefined> {
  const note = await witness.checkpoint(log.origin);
  return note === undefined ? undefined : parseCheckpoint(parseNote(note).text).size;
}

/** The logs of which more was cosigned than is known. */
async function forgotten(witness: RunningWitness, cosigned: Cosigned): Promise<string[]> {
  const found = await Promise.all(
    [...cosigned].map(async ([log, size]) => {
      const stored = (await storedSize(witness, log)) ?? 0;
      return stored < size ? [`${log.origin}: cosigned ${size}, knows ${stored}`] : [];
    }),
  );
  return found.flat();
}

async function stopInPeace(witness: RunningWitness): Promise<void> {
  witness.process.child.kill('SIGTERM');
  assert.equal((await witness.process.ended).code, 0);
  await witness[Symbol.asyncDispose]();
}

async function killRounds(
  data: string,
  rounds: number,
  cosigned: Cosigned,
  order: 'store first' | 'answer first',
): Promise<string[]> {
  // Most of a start is reading the sources; what comes of it is kept by the first, which stops in peace.
  const options = { launcher: PROCESS, env: { NODE_COMPILE_CACHE: join(data, 'compiled') } };
  const start = () => startWitness(data, [PREFIX, logs[0]!.verifierKey, order], options);
  await stopInPeace(await start());
  for (let round = 0; round < rounds; round++) {
    await using witness = await start();
    const lost = await forgotten(witness, cosigned);
    if (lost.length > 0) return lost;
    const sizes = await Promise.all(logs.map((log) => storedSize(witness, log)));
    const underWay = Promise.withResolvers<void>();
    const growing = logs.map((log, i) =>
      growUntilKilled(witness, log, sizes[i] ?? 0, (size) => {
        cosigned.set(log, size);
        underWay.resolve();
      }),
    );
    await underWay.promise;
    await new Promise((resolve) => setTimeout(resolve, Math.random() * 60));
    witness.process.child.kill('SIGKILL');
    await Promise.all([...growing, witness.process.ended]);
  }
  await using witness = await start();
  return await forgotten(witness, cosigned);
}

test(`a witness forgets nothing that it cosigned, killed ${KILLS} times at random moments`, async (t) => {
  using folder = witnessFolder();
  const cosigned: Cosigned = new Map();
  assert.deepEqual(await killRounds(folder.path, KILLS, cosigned, 'store first'), []);
  const total = [...cosigned.values()].reduce((sum, size) => sum + size, 0);
  assert.ok(total > KILLS, `only ${total} checkpoints were cosigned`);
  t.diagnostic(`${KILLS} kills, ${total} checkpoints cosigned, 0 forgotten`);
});

test('control: a witness that answers before it stores forgets, and this test sees it', async (t) => {
  let lost: string[] = [];
  for (let attempt = 0; attempt < 5 && lost.length === 0; attempt++) {
    using folder = witnessFolder();
    lost = await killRounds(folder.path, 1, new Map(), 'answer first');
  }
  assert.ok(lost.length > 0);
  t.diagnostic(lost.join('; '));
});

const hasPrlimit = (() => {
  try {
    return execFileSync('prlimit', ['--version']).length > 0;
  } catch {
    return false;
  }
})();

test('a witness that cannot store cosigns nothing and ends, and goes on where it was when it can', {
  skip: !hasPrlimit && 'prlimit is not installed',
}, async () => {
  using folder = witnessFolder();
  const log = logs[0]!;
  const start = () =>
    startWitness(folder.path, [PREFIX, log.verifierKey, 'store first'], { launcher: PROCESS });
  {
    await using witness = await start();
    assert.equal((await witness.add(await log.request(0, 3))).status, 200);
    execFileSync('prlimit', [`--pid=${witness.process.child.pid}`, '--fsize=1024:unlimited']);
    const { status, body } = await witness.add(await log.request(3, 5));
    assert.deepEqual([status, body], [500, 'the witness failed; nothing was cosigned\n']);
    const { code, stderr } = await witness.process.ended;
    assert.equal(code, 1);
    assert.match(stderr, /cannot store what was cosigned/);
  }
  await using witness = await start();
  assert.equal(await storedSize(witness, log), 3);
  assert.equal((await witness.add(await log.request(3, 5))).status, 200);
});
