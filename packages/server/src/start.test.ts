// What a start refuses, and what it tidies up, on a data directory that was used before.

import assert from 'node:assert/strict';
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  renameSync,
  rmSync,
  utimesSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, test } from 'node:test';
import { StartError } from './start-error.ts';
import { EVENT } from './testing/bound-operations.ts';
import { believeClearance, eventCaller } from './testing/event-caller.ts';
import { startTestApp } from './testing/test-app.ts';

const folder = mkdtempSync(join(tmpdir(), 'tallystick-start-'));
after(() => rmSync(folder, { recursive: true }));

test('a start without the keys that signed the logs is refused, and with them it goes on', async () => {
  const directory = join(folder, 'data');
  const start = () => startTestApp({ Storage__DataDirectory: directory }, { authenticate: believeClearance });
  const proofOf = async (url: string, eventId: string) =>
    (
      await fetch(`${url}/api/v1/audit-events/${eventId}/proof`, {
        headers: { 'X-API-Key': 'Secret', 'X-Tenant-Id': 'acme' },
      })
    ).status;
  let eventId: string;
  {
    await using app = await start();
    ({ eventId } = (await eventCaller(app).ingest(EVENT)).body);
    assert.equal(await proofOf(app.url, eventId), 200);
  }
  const keys = join(directory, 'signing-keys');
  renameSync(keys, `${keys}.away`);
  await assert.rejects(start(), (error) => {
    assert.ok(error instanceof StartError);
    assert.match(error.message, /signing-keys has no key, and logs were signed before/);
    return true;
  });
  // Without the anchor the checkpoints in the store still tell that logs were signed.
  const anchor = join(directory, 'anchor');
  renameSync(anchor, `${anchor}.away`);
  await assert.rejects(start(), /signing-keys has no key, and logs were signed before/);
  assert.equal(existsSync(keys), false, 'no key is made');
  renameSync(`${anchor}.away`, anchor);
  renameSync(`${keys}.away`, keys);
  await using app = await start();
  assert.equal(await proofOf(app.url, eventId), 200);
});

test('a start removes the draft of a key that a killed rotation has left, and keeps one that may be in use', async () => {
  const directory = join(folder, 'drafts');
  const start = () => startTestApp({ Storage__DataDirectory: directory }, { authenticate: believeClearance });
  await (await start())[Symbol.asyncDispose]();
  const keys = join(directory, 'signing-keys');
  const names = ['0002.pem.draft-Old001', '0002.pem.draft-New001'];
  for (const name of names) {
    mkdirSync(join(keys, name));
    writeFileSync(join(keys, name, 'draft'), 'a private key');
  }
  utimesSync(join(keys, names[0]!), 1, 1);
  await using _ = await start();
  assert.deepEqual(readdirSync(keys), ['0001.json', '0001.pem', names[1]]);
});
