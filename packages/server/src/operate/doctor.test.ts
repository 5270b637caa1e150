// What the examination says of a database, and of how long an fsync takes.

import assert from 'node:assert/strict';
import { chmodSync, mkdirSync, mkdtempSync, readFileSync, rmSync, utimesSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { Pool } from 'pg';
import { loadConfig } from '../config/config.ts';
import { PLATFORM_KEY, WITH_PLATFORM_KEY } from '../testing/admin-caller.ts';
import { ask } from '../testing/ask.ts';
import { createAuthority } from '../testing/certificates.ts';
import { createMigrated } from '../testing/migrated-database.ts';
import { type PostgresServer, startPostgres } from '../testing/postgres-server.ts';
import { startTestApp } from '../testing/test-app.ts';
import { examineClock } from './doctor/clock.ts';
import { examineFiles } from './doctor/files.ts';
import { judgeSync } from './doctor/sync.ts';
import { examine } from './doctor.ts';

const folder = mkdtempSync(join(tmpdir(), 'tallystick-doctor-'));
let server: PostgresServer;
before(async () => {
  server = await startPostgres();
});
after(async () => {
  await server?.[Symbol.asyncDispose]();
  rmSync(folder, { recursive: true });
});

/** By part. */
async function found(variables: Record<string, string>): Promise<Record<string, string[]>> {
  const dataDirectory = join(folder, 'data');
  mkdirSync(join(dataDirectory, 'signing-keys'), { recursive: true, mode: 0o700 });
  const { config } = loadConfig({
    variables: { Storage__DataDirectory: dataDirectory, Environment: 'Test', ...variables },
    workingDirectory: folder,
  });
  const { examined } = await examine(config, variables);
  return Object.fromEntries(examined.map(({ part, problems }) => [part, problems.map(({ what }) => what)]));
}

test('a database is sound, may lose what it acknowledges, is of another version, or is not there', async () => {
  const url = await createMigrated(server);
  assert.deepEqual((await found({ Storage__Url: url })).database, []);
  assert.deepEqual((await found({ Storage__Url: url })).clock, []);
  await using pool = Object.assign(new Pool({ connectionString: url, max: 1 }), {
    [Symbol.asyncDispose]: () => pool.end(),
  });
  const name = new URL(url).pathname.slice(1);
  await pool.query(`ALTER DATABASE "${name}" SET synchronous_commit = off`);
  const lossy = await found({ Storage__Url: url });
  assert.match(
    lossy.database!.join(),
    /^the database has synchronous_commit off: what it acknowledges may be lost/,
  );
  await pool.query(`ALTER DATABASE "${name}" RESET synchronous_commit`);
  const empty = await found({ Storage__Url: await server.createDatabase() });
  assert.equal(empty.database!.length, 1);
  const away = new URL(url);
  away.port = '1';
  const unreached = await found({ Storage__Url: away.href });
  assert.match(unreached.database!.join(), /^cannot connect to the database of Storage__Url: /);
  assert.ok(!unreached.database!.join().includes(away.password || 'no password'));
  assert.match(unreached.clock!.join(), /^the examination of clock has failed: /);
});

test('a certificate that ends soon, or is none, is found', async () => {
  const notAfter = new Date(Date.now() + 5 * 86_400_000);
  const { certificate, key } = createAuthority().issue({ hosts: ['localhost'], notAfter });
  const files = { certificate: join(folder, 'certificate.pem'), key: join(folder, 'key.pem') };
  writeFileSync(files.certificate, certificate);
  writeFileSync(files.key, key, { mode: 0o600 });
  const url = await createMigrated(server);
  const settings = { Storage__Url: url, Server__Tls__Certificate: files.certificate };
  const ending = await found({ ...settings, Server__Tls__Key: files.key });
  assert.match(
    ending.certificate!.join(),
    /^the certificate in Server__Tls__Certificate ends at .*; at least 14 days/,
  );
  const none = await found({ ...settings, Server__Tls__Key: files.certificate });
  assert.match(none.certificate!.join(), / are no certificate and its key$/);
});

test('files are looked at one by one, and the last write of an embedded store is not in the future', async () => {
  const dataDirectory = join(folder, 'embedded');
  mkdirSync(dataDirectory);
  chmodSync(dataDirectory, 0o755);
  // A folder should be here, and nothing in it can be listed.
  writeFileSync(join(dataDirectory, 'signing-keys'), '');
  const [tokenKey, journal] = [join(dataDirectory, 'token-key.pem'), join(dataDirectory, 'journal.db')];
  for (const file of [tokenKey, journal, `${journal}-wal`]) {
    writeFileSync(file, '');
    chmodSync(file, 0o644);
  }
  const { config } = loadConfig({
    variables: { Storage__DataDirectory: dataDirectory },
    workingDirectory: folder,
  });
  const told = (await examineFiles(config)).problems.map(({ what }) => what).join('\n');
  assert.match(told, /signing-keys cannot be examined: ENOTDIR/);
  assert.match(told, /^others may read .*embedded \(mode 755\)$/m);
  assert.match(told, /^others may read .*token-key\.pem \(mode 644\)$/m);
  assert.match(told, /^the anchor should be at /m);
  assert.deepEqual((await examineClock(config)).problems, []);
  const ahead = Date.now() / 1000 + 86_400;
  utimesSync(`${journal}-wal`, ahead, ahead);
  assert.match(
    (await examineClock(config)).problems[0]!.what,
    /^the log was written 86\d{3} s in the future/,
  );
});

test('a keyring that is lost, or is of another store, is found before the start refuses it', async () => {
  const dataDirectory = join(folder, 'sealed');
  const settings = { ...WITH_PLATFORM_KEY, Storage__DataDirectory: dataDirectory };
  const app = await startTestApp(settings);
  // Its secret is sealed.
  const body = { name: 'SIEM', url: 'https://consumer.example.com/hook', eventTypes: ['*'] };
  const made = await ask(app, 'POST', '/api/v1/webhooks/subscriptions', {
    key: PLATFORM_KEY,
    tenant: 'acme',
    body,
  });
  assert.equal(made.status, 201, made.text);
  await app[Symbol.asyncDispose]();
  const { config } = loadConfig({ variables: settings, workingDirectory: folder });
  const told = async () => (await examineFiles(config)).problems.map(({ what }) => what);
  assert.deepEqual(await told(), []);
  const keyring = join(dataDirectory, 'keyring.json');
  const other = readFileSync(keyring, 'utf8').replace(/"id": "\w+"/, '"id": "0123456789abcdef"');
  rmSync(keyring);
  assert.match(
    (await told()).join(),
    /^the keyring .* is not there, and the store has content that only it opens/,
  );
  writeFileSync(keyring, other, { mode: 0o600 });
  assert.match((await told()).join(), /keyring\.json is not the one of this store/);
});

test('an fsync that returns before a medium can is found, and so is a disk in memory', () => {
  const EXT4 = 0xef53;
  const TMPFS = 0x01021994;
  const table: [medianUs: number, fileSystem: number, expected: RegExp][] = [
    [4000, EXT4, /^$/],
    [45, EXT4, /^$/],
    [3.2, EXT4, /returns after 3 µs, earlier than a medium can store anything/],
    [3.2, TMPFS, /^the data directory is in memory \(tmpfs\): the log is gone with the power$/],
  ];
  for (const [medianUs, fileSystem, expected] of table) {
    const { problems } = judgeSync(medianUs, fileSystem, 'the log');
    assert.match(problems.map(({ what }) => what).join(), expected, `${medianUs} ${fileSystem}`);
  }
});
