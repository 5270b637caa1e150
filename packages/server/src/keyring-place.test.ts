// The keyring with its real providers, by the settings of an operator: from the first start to a change of provider, and what is said
// where the file is not what it should be.

import assert from 'node:assert/strict';
import { readFileSync, writeFileSync } from 'node:fs';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, describe, test } from 'node:test';
import { loadConfig } from './config/config.ts';
import { keyringOf } from './keyring-place.ts';
import { createSystemRandom } from './runtime/random.ts';
import { changeKeyring, rewrapKeyring } from './storage/sealing/destroy-keys.ts';
import { withoutBranch } from './storage/sealing/key-tree.ts';
import { newRingKey } from './storage/sealing/keyring-file.ts';
import { monthBranch } from './storage/sealing/keyring.ts';
import { type KeyringPlace, openKeyring } from './storage/sealing/open-keyring.ts';
import { withAwsCredentials } from './testing/aws-credentials.ts';
import { KmsServer } from './testing/kms-server.ts';
import { VaultServer } from './testing/vault-server.ts';

type Settings = Readonly<Record<string, string>>;

const folder = mkdtempSync(join(tmpdir(), 'tallystick-providers-'));
const credentials = withAwsCredentials();
credentials.use('AKIDGOOD');
after(() => {
  credentials.restore();
  rmSync(folder, { recursive: true });
});
const making = { random: createSystemRandom(), nowMs: 1_767_323_046_000 };
let places = 0;

const newFile = () => join(folder, `ring-${++places}`);

function placeBy(settings: Settings, file = newFile()): KeyringPlace {
  const variables = { Environment: 'Test', Encryption__Keyring: file, ...settings };
  return keyringOf(loadConfig({ variables, workingDirectory: folder }).config);
}

const withVault = (vault: VaultServer, more: Settings = {}): Settings => ({
  Encryption__Provider: 'Vault',
  Encryption__Vault__Address: vault.url,
  Encryption__Vault__Key: 'tallystick',
  Encryption__Vault__Token: 's.good',
  ...more,
});

const withKms = (kms: KmsServer, keyId: string, more: Settings = {}): Settings => ({
  Encryption__Provider: 'AwsKms',
  Encryption__AwsKms__KeyId: keyId,
  Encryption__AwsKms__Region: kms.region,
  Encryption__AwsKms__Endpoint: kms.url,
  ...more,
});

interface Stored {
  provider: string;
  keys: { id: string; createdAt: string; secrets: string }[];
}

const storedAt = (file: string) => JSON.parse(readFileSync(file, 'utf8')) as Stored;
const store = (file: string, stored: Stored) => writeFileSync(file, JSON.stringify(stored));

const ringOf = async (place: KeyringPlace) => (await openKeyring(place, [], making)).ring!;

const addKey = (place: KeyringPlace) =>
  changeKeyring({ place }, (ring) => ({ ...ring, keys: [...ring.keys, newRingKey(making)] }));

const PROVIDERS = [
  {
    name: 'Vault',
    start: async () => {
      const vault = await VaultServer.start();
      return { server: vault, settings: withVault(vault), destroyed: () => vault.keys.clear() };
    },
  },
  {
    name: 'AwsKms',
    start: async () => {
      const kms = await KmsServer.start();
      return { server: kms, settings: withKms(kms, kms.makeKey()), destroyed: () => kms.keys.clear() };
    },
  },
];

for (const { name, start } of PROVIDERS)
  describe(`sealed by ${name}`, () => {
    test('a keyring is made, opened again, added to and punctured, and its file has no secret', async () => {
      const { server, settings } = await start();
      await using _ = server;
      const place = placeBy(settings);
      const made = await ringOf(place);
      assert.deepEqual(await ringOf(place), made);
      const added = await addKey(place);
      // Large enough for what KMS does not encrypt itself.
      const months = Array.from({ length: 12 }, (_, i) => monthBranch(80_000 * (i + 1)));
      const without = await changeKeyring({ place }, (ring) => ({
        ...ring,
        keys: ring.keys.map((key) => ({ ...key, tree: months.reduce(withoutBranch, key.tree) })),
      }));
      assert.deepEqual(await ringOf(place), without);
      const stored = storedAt(place.path);
      assert.equal(stored.provider, name);
      assert.ok(Buffer.from(stored.keys[0]!.secrets, 'base64').length > 4096, 'it is large');
      const bytes = Buffer.concat(stored.keys.map(({ secrets }) => Buffer.from(secrets, 'base64')));
      for (const { tree } of [...added.keys, ...without.keys])
        for (const secret of tree.values()) assert.equal(bytes.indexOf(secret), -1);
    });

    test('no bit of it can be changed', async () => {
      const { server, settings } = await start();
      await using _ = server;
      const place = placeBy(settings);
      await ringOf(place);
      const sound = storedAt(place.path);
      const bytes = Buffer.from(sound.keys[0]!.secrets, 'base64');
      for (let at = 0; at < bytes.length; at += 5) {
        const changed = Buffer.from(bytes);
        changed[at]! ^= 4;
        store(place.path, { ...sound, keys: [{ ...sound.keys[0]!, secrets: changed.toString('base64') }] });
        await assert.rejects(
          ringOf(place),
          /^StartError: the key [0-9a-f]{16} of the keyring .*\/ring-\d+ cannot be opened: .*(does not open this|were altered|are not whole|has not sealed this)/,
          `byte ${at}`,
        );
      }
      store(place.path, sound);
      await ringOf(place);
    });

    test('its keys open at their places and in their keyring alone', async () => {
      const { server, settings } = await start();
      await using _ = server;
      const [place, other] = [placeBy(settings), placeBy(settings)];
      for (const each of [place, other]) {
        await ringOf(each);
        await addKey(each);
        await addKey(each);
      }
      const [own, foreign] = [storedAt(place.path), storedAt(other.path)];
      const [a, b, c] = own.keys as [Stored['keys'][0], Stored['keys'][0], Stored['keys'][0]];
      const attacks: Record<string, Stored['keys']> = {
        'an older key made the newest one': [a, c, b],
        'a key twice': [a, b, c, a],
        'a key left out': [a, c],
        'the secrets of another key': [a, { ...b, secrets: c.secrets }, c],
        'the name of another key': [a, { ...b, id: c.id }, c],
        'a key of another installation': [a, b, foreign.keys[2]!],
        'this key in the keyring of another installation': [foreign.keys[0]!, foreign.keys[1]!, c],
      };
      for (const [what, keys] of Object.entries(attacks)) {
        store(place.path, { ...own, keys });
        await assert.rejects(
          ringOf(place),
          /^StartError: the key .* cannot be opened: .*does not open/,
          what,
        );
      }
      // The whole keyring of another installation opens, and is not the one of this store.
      store(place.path, foreign);
      await assert.rejects(
        openKeyring(place, [a.id], making),
        new RegExp(`is not the one of this store: it has no key ${a.id}`),
      );
    });

    test('the start stops with one line where the provider is away, or its key is gone', async () => {
      const { server, settings, destroyed } = await start();
      const place = placeBy(settings);
      await ringOf(place);
      await server.server.goAway();
      await assert.rejects(ringOf(place), (error: Error) => {
        assert.match(
          error.message,
          /^the key .* of the keyring .* cannot be opened: the key .* cannot be asked/,
        );
        assert.doesNotMatch(error.message, /\n|s\.good|a secret of the test/);
        return error.name === 'StartError';
      });
      await assert.rejects(addKey(place), /^StartError: .* cannot be asked/);
      await assert.rejects(
        ringOf(placeBy(settings)),
        /^StartError: the keyring .* cannot be sealed: .* cannot be asked/,
      );
      await server.server.comeBack();
      await ringOf(place);
      destroyed();
      await assert.rejects(ringOf(place), /^StartError: .* (does not open this|is not there)/);
      await server[Symbol.asyncDispose]();
    });

    test('from a file to the provider and back, nodes with the settings of either step open it', async () => {
      const { server, settings } = await start();
      await using _ = server;
      const file = newFile();
      const [plain, during, after] = [
        placeBy({}, file),
        placeBy({ ...settings, Encryption__PreviousProvider: 'File' }, file),
        placeBy(settings, file),
      ];
      const ring = await ringOf(plain);
      // A node that may already seal otherwise leaves the file as the others can read it.
      const added = await addKey(during);
      assert.deepEqual(await ringOf(plain), added);
      await assert.rejects(
        ringOf(after),
        /is sealed by File, and Encryption__Provider is (Vault|AwsKms); to move from/,
      );
      await rewrapKeyring(during);
      for (const place of [during, after]) assert.deepEqual(await ringOf(place), added);
      await assert.rejects(
        ringOf(plain),
        new RegExp(`is sealed by ${name}, and Encryption__Provider is File; to move from`),
      );
      const back = placeBy(
        { ...settings, Encryption__Provider: 'File', Encryption__PreviousProvider: name },
        file,
      );
      assert.deepEqual(await ringOf(back), added);
      await rewrapKeyring(back);
      assert.deepEqual(await ringOf(plain), added);
      assert.deepEqual(added.keys[0], ring.keys[0]);
    });
  });

test('a keyring is sealed anew by the newest version of the key of a Vault, and the old version can go', async () => {
  await using vault = await VaultServer.start();
  const place = placeBy(withVault(vault));
  const ring = await ringOf(place);
  vault.rotate('tallystick');
  assert.deepEqual(await ringOf(place), ring);
  await rewrapKeyring(place);
  vault.keys.set('tallystick', [Buffer.alloc(32), vault.keys.get('tallystick')![1]!]);
  assert.deepEqual(await ringOf(place), ring);
});

test('from one key of a provider to another, each change leaves it to the key that it has', async () => {
  await using vault = await VaultServer.start();
  await using kms = await KmsServer.start();
  const [old, young] = [kms.makeKey(), kms.makeKey()];
  vault.rotate('young');
  const steps = [
    {
      before: withVault(vault),
      during: withVault(vault, {
        Encryption__Vault__Key: 'young',
        Encryption__PreviousProvider: 'Vault',
        Encryption__PreviousKey: 'tallystick',
      }),
      after: withVault(vault, { Encryption__Vault__Key: 'young' }),
    },
    {
      before: withKms(kms, old),
      during: withKms(kms, young, {
        Encryption__PreviousProvider: 'AwsKms',
        Encryption__PreviousKey: old,
      }),
      after: withKms(kms, young),
    },
  ];
  for (const { before, during, after } of steps) {
    const file = newFile();
    await ringOf(placeBy(before, file));
    const added = await addKey(placeBy(during, file));
    assert.deepEqual(await ringOf(placeBy(before, file)), added, 'sealed as it was');
    await assert.rejects(ringOf(placeBy(after, file)), /does not open this|another key has/);
    await rewrapKeyring(placeBy(during, file));
    for (const settings of [during, after]) assert.deepEqual(await ringOf(placeBy(settings, file)), added);
    await assert.rejects(ringOf(placeBy(before, file)), /does not open this|another key has/);
  }
});

test('where neither the key nor the one before opens it, both are named', async () => {
  await using vault = await VaultServer.start();
  vault.rotate('first');
  vault.rotate('second');
  const file = newFile();
  await ringOf(placeBy(withVault(vault), file));
  const settings = {
    Encryption__Vault__Key: 'second',
    Encryption__PreviousProvider: 'Vault',
    Encryption__PreviousKey: 'first',
  };
  await assert.rejects(
    ringOf(placeBy(withVault(vault, settings), file)),
    /transit\/second of Vault .* does not open this.*; nor with what sealed it before: .*transit\/first of Vault/,
  );
});

test('a file of authorities that is not there is named before anybody is asked', async () => {
  await using vault = await VaultServer.start();
  assert.throws(
    () => placeBy(withVault(vault, { Encryption__Vault__Ca: '/nowhere/ca.pem' })),
    /^StartError: Encryption__Vault__Ca: cannot read \/nowhere\/ca\.pem \(ENOENT\)$/,
  );
  assert.deepEqual(vault.asked, []);
});
