import assert from 'node:assert/strict';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { systemClock } from '../runtime/clock.ts';
import { createSystemRandom } from '../runtime/random.ts';
import { now, STREAMS } from './conformance/claims.ts';
import { createLateStorage } from './late-storage.ts';
import { openSqliteStorage } from './sqlite/sqlite-storage.ts';

test('before it is open everything is SERVICE_UNAVAILABLE, afterwards it is the opened one', async () => {
  const directory = mkdtempSync(join(tmpdir(), 'tallystick-late-'));
  const late = createLateStorage();
  const unavailable = { code: 'SERVICE_UNAVAILABLE' };
  await assert.rejects(late.tenants.ensure('acme', 1), unavailable);
  await assert.rejects(late.records.all('ApiKey'), unavailable);
  await assert.rejects(late.log.probe(), unavailable);
  await assert.rejects(late.log.seal({ tenant: 'acme', streamId: 'x' }, now()), unavailable);
  await assert.rejects(late.log.sealAged(now()), unavailable);
  assert.throws(() => late.log.forTenant('acme'), unavailable);
  assert.throws(() => late.records.forOwner('acme'), unavailable);
  assert.equal(late.records.freshMs(), 0);
  late.use(
    await openSqliteStorage({
      directory,
      logOrigin: undefined,
      streams: STREAMS,
      clock: systemClock,
      random: createSystemRandom(),
      threads: false,
      exclusive: true,
      onFatal: assert.fail,
    }),
  );
  assert.equal((await late.tenants.ensure('acme', 1)).tenantId, 'acme');
  assert.deepEqual(await late.records.all('ApiKey'), []);
  assert.deepEqual(await late.records.forOwner('acme').list('ApiKey'), []);
  await late.log.probe();
  assert.deepEqual(await late.log.seal({ tenant: 'acme', streamId: 'x' }, now()), { status: 'Unknown' });
  assert.equal(await late.log.sealAged(now()), false);
  await late[Symbol.asyncDispose]();
  await assert.rejects(late.records.all('ApiKey'));
  rmSync(directory, { recursive: true });
});

test('a storage that was never opened closes without an error', async () => {
  await createLateStorage()[Symbol.asyncDispose]();
});
