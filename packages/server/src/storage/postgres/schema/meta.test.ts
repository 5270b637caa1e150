import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { type Databases, openDatabases } from '../../../testing/postgres-server.ts';
import { Database } from '../connection/database.ts';
import { readInstallation, settleInstallation } from './meta.ts';
import { migrate } from './migrate.ts';

let server: Databases;
let migrated: string;
before(async () => {
  server = await openDatabases();
  migrated = await server.createDatabase();
  await using owner = new Database({ url: migrated, connectionsMax: 1 });
  await migrate(owner, 'postgres');
});
after(async () => {
  await server?.[Symbol.asyncDispose]();
});

async function newDatabase(): Promise<Database> {
  return new Database({ url: await server.createDatabase(migrated), connectionsMax: 4 });
}

let ids = 0;
const nextId = () => `01KE${String(++ids).padStart(22, '0')}`;

test('an installation is settled by the first start, and stays', async () => {
  await using database = await newDatabase();
  assert.equal(await readInstallation(database), undefined);
  const first = await settleInstallation(database, { logOrigin: undefined, nextId });
  assert.equal(first.logOrigin, `tallystick.local/${first.installationId}`);
  assert.deepEqual(await settleInstallation(database, { logOrigin: undefined, nextId }), first);
  assert.deepEqual(await settleInstallation(database, { logOrigin: first.logOrigin, nextId }), first);
  assert.deepEqual(await readInstallation(database), first);
  await assert.rejects(settleInstallation(database, { logOrigin: 'audit.example.com', nextId }), {
    name: 'StartError',
    message: /^Log__Origin is audit\.example\.com; this installation has signed as tallystick\.local/,
  });
});

test('concurrent first starts settle the same installation', async () => {
  for (let round = 0; round < 5; round++) {
    await using database = await newDatabase();
    const nodes = [1, 2, 3, 4].map(() => settleInstallation(database, { logOrigin: undefined, nextId }));
    const [first, ...others] = await Promise.all(nodes);
    for (const other of others) assert.deepEqual(other, first);
    assert.equal(first?.logOrigin, `tallystick.local/${first?.installationId}`);
  }
});
