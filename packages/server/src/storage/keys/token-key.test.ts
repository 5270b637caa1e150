import assert from 'node:assert/strict';
import { mkdtempSync, readdirSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { StartError } from '../../start-error.ts';
import { loadOrMakeTokenKey, loadTokenKey, TOKEN_KEY_FILE } from './token-key.ts';

function folder(): Disposable & { path: string } {
  const path = mkdtempSync(join(tmpdir(), 'tallystick-token-key-'));
  return { path, [Symbol.dispose]: () => rmSync(path, { recursive: true }) };
}

test('the key is created once, for its owner only, and leaves no other files', async () => {
  using directory = folder();
  assert.equal(await loadTokenKey(directory.path), undefined);
  const made = await loadOrMakeTokenKey(directory.path, 'a');
  assert.equal(statSync(join(directory.path, TOKEN_KEY_FILE)).mode & 0o777, 0o600);
  assert.deepEqual(readdirSync(directory.path), [TOKEN_KEY_FILE]);
  assert.ok((await loadOrMakeTokenKey(directory.path, 'b')).equals(made));
});

test('of concurrent attempts one creates the key, and all use it', async () => {
  using directory = folder();
  const keys = await Promise.all(
    Array.from({ length: 8 }, (_, i) => loadOrMakeTokenKey(directory.path, `${i}`)),
  );
  for (const key of keys) assert.ok(key.equals(keys[0]!));
  assert.deepEqual(readdirSync(directory.path), [TOKEN_KEY_FILE]);
});

test('a file that is not an Ed25519 key is refused, not replaced', async () => {
  using directory = folder();
  writeFileSync(join(directory.path, TOKEN_KEY_FILE), 'nonsense');
  await assert.rejects(loadOrMakeTokenKey(directory.path, 'a'), StartError);
});
