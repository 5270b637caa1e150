import assert from 'node:assert/strict';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { pathToFileURL } from 'node:url';
import { ownBuffers, threadsBeside } from './thread.ts';

test('a thread that cannot be started fails its callers, and nothing else', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'tallystick-thread-'));
  try {
    writeFileSync(join(folder, 'broken.js'), "throw new Error('no such module');");
    const start = threadsBeside(pathToFileURL(join(folder, 'main.js')).href);
    let unhandled = 0;
    const count = () => (unhandled += 1);
    process.on('unhandledRejection', count);
    await using thread = start<string>('broken', undefined, () => assert.fail('it was never open'));
    await assert.rejects(thread.ask('anything'), /no such module/);
    assert.match(String(thread.crash), /no such module/);
    await new Promise((resolve) => setImmediate(resolve));
    process.off('unhandledRejection', count);
    assert.equal(unhandled, 0);
  } finally {
    rmSync(folder, { recursive: true });
  }
});

test('only memory that holds nothing else is handed over', () => {
  const whole = new Uint8Array(8);
  assert.deepEqual(ownBuffers(whole, undefined, new Int32Array(2)).length, 2);
  assert.deepEqual(ownBuffers(whole.subarray(1), new Uint8Array(new SharedArrayBuffer(4))), []);
});
