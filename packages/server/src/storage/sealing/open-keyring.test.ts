import assert from 'node:assert/strict';
import { chmodSync, mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, test } from 'node:test';
import { createSystemRandom } from '../../runtime/random.ts';
import { FILE_PROVIDER, readKeyring, replaceKeyring } from './keyring-file.ts';
import { withoutBranch } from './key-tree.ts';
import { openKeyring } from './open-keyring.ts';

const folder = mkdtempSync(join(tmpdir(), 'tallystick-keyring-'));
after(() => rmSync(folder, { recursive: true }));
const making = { random: createSystemRandom(), nowMs: 1_767_323_046_000 };
let places = 0;
const newPlace = (sealed = 12) => ({
  path: join(folder, `ring-${++places}`),
  provider: FILE_PROVIDER,
  sealed,
});

test('the first start makes a keyring for its owner alone, and the next one has the same', async () => {
  const place = newPlace();
  const { ring } = await openKeyring(place, [], making);
  assert.equal(statSync(place.path).mode & 0o777, 0o600);
  assert.deepEqual((await openKeyring(place, [ring!.keys[0]!.id], making)).ring, ring);
});

test('of two that make one at once, both have the first one', async () => {
  const place = newPlace();
  const [one, other] = await Promise.all([openKeyring(place, [], making), openKeyring(place, [], making)]);
  assert.deepEqual(one.ring, other.ring);
});

test('a keyring that is lost, or is another one, stops the start with one line, and nothing is made in its place', async () => {
  const place = newPlace();
  await assert.rejects(
    openKeyring(place, ['00000000000000aa'], making),
    /^StartError: the keyring .* is not there, and the store has content that only it opens/,
  );
  assert.equal(await readKeyring(place), undefined);
  await openKeyring(place, [], making);
  await assert.rejects(
    openKeyring(place, ['00000000000000aa'], making),
    /is not the one of this store: it has no key 00000000000000aa/,
  );
});

test('one is made where no content is sealed, too: stored secrets are; commands make none', async () => {
  const place = newPlace(0);
  assert.equal((await openKeyring(place, [], undefined)).ring, undefined);
  assert.equal(await readKeyring(place), undefined);
  const { ring, sealed } = await openKeyring(place, [], making);
  assert.deepEqual([ring?.keys.length, sealed], [1, 0]);
});

test('a keyring that others can read, that is none, or that is sealed by somebody else is refused', async () => {
  const place = newPlace();
  await openKeyring(place, [], making);
  chmodSync(place.path, 0o640);
  await assert.rejects(openKeyring(place, [], making), /can be read by others \(mode 640\): make it 0600/);
  chmodSync(place.path, 0o600);
  const text = readFileSync(place.path, 'utf8');
  writeFileSync(place.path, text.replace('"File"', '"Vault"'));
  await assert.rejects(
    openKeyring(place, [], making),
    /is sealed by Vault, and Encryption__Provider is File/,
  );
  writeFileSync(place.path, '{}');
  await assert.rejects(openKeyring(place, [], making), /is not a keyring/);
});

test('what is destroyed in a keyring is written as it is left', async () => {
  const place = newPlace();
  const { ring } = await openKeyring(place, [], making);
  const keys = ring!.keys.map((key) => ({ ...key, tree: withoutBranch(key.tree, '0101') }));
  await replaceKeyring({ ...ring!, keys }, FILE_PROVIDER);
  assert.deepEqual((await readKeyring(place))!.ring.keys, keys);
});
