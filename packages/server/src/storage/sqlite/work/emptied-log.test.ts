// What a job has heard may repeat what an event told. Once the job is gone, no file has it any more, however idle the service is.

import assert from 'node:assert/strict';
import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, test } from 'node:test';
import { systemClock } from '../../../runtime/clock.ts';
import { createSystemRandom } from '../../../runtime/random.ts';
import { sealingBy, testRing } from '../../../testing/sealed-store.ts';
import { STREAMS } from '../../conformance/claims.ts';
import { enqueue, finish, WISH } from '../../conformance/work.ts';
import type { Storage } from '../../storage.ts';
import { openSqliteStorage } from '../sqlite-storage.ts';

const CANARY = 'what Ana said';

const directory = mkdtempSync(join(tmpdir(), 'tallystick-emptied-'));
after(() => rmSync(directory, { recursive: true }));

function traces(): string[] {
  return readdirSync(directory).filter((name) => readFileSync(join(directory, name)).includes(CANARY));
}

async function open(): Promise<Storage> {
  const storage = await openSqliteStorage({
    directory,
    logOrigin: 'audit.example.com',
    streams: STREAMS,
    clock: systemClock,
    random: createSystemRandom(),
    threads: false,
    exclusive: false,
    openSealing: sealingBy(testRing(), []),
    onFatal: (error) => {
      throw error;
    },
  });
  await storage.tenants.ensure('acme', 0);
  return storage;
}

test('nothing that a job has heard is in a file once the job is gone and a sweep has passed', async () => {
  await using storage = await open();
  const { work } = storage;
  await enqueue(storage, 'acme');
  const [claim] = await work.claim(WISH);
  assert.ok(await finish(storage, claim!, { status: 'Failed', reason: 'r', againInMs: 0, heard: CANARY }));
  assert.notDeepEqual(traces(), [], 'control');
  const [again] = await work.claim(WISH);
  assert.ok(await finish(storage, again!, { status: 'Done' }));
  assert.equal(await work.sweep(), false);
  assert.deepEqual(traces(), []);
});
