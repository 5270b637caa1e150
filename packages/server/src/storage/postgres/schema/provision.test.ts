// The database as its owner creates it, and the rights of a user who is not the owner. Roles belong to the whole
// server, so each test has its own users.

import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { Client } from 'pg';
import { systemClock } from '../../../runtime/clock.ts';
import { createUlids } from '../../../runtime/ids.ts';
import { createSystemRandom } from '../../../runtime/random.ts';
import { type PostgresServer, startPostgres } from '../../../testing/postgres-server.ts';
import { draftOf, now, NOW_MS, placedIn, request, STREAMS } from '../../conformance/claims.ts';
import { changeOf, nextVersion, recordOf } from '../../conformance/records.ts';
import { PoolCommitter } from '../../pool/pool-commitments.ts';
import { ALL_TENANTS, Database, SCHEMA, statement } from '../connection/database.ts';
import { createLog } from '../../../testing/postgres-log.ts';
import { settleInstallation } from './meta.ts';
import { MIGRATION_LOCK } from './content-partitions.ts';
import { migrate, requireReady, requireVersion, versionIn } from './migrate.ts';
import { openPostgresStorage } from '../postgres-storage.ts';
import { ensureReady, provision } from './provision.ts';
import { createRecordReader } from '../records/records.ts';
import { COMMON_TABLES, DATABASE_ROLES, TENANT_TABLES } from './rights.ts';
import { classificationIn } from '../../rows/classification-column.ts';
import { MIGRATIONS } from './schema.ts';
import { byPartitions } from './partitions.ts';
import { createTenantStore } from '../records/tenants.ts';

const random = createSystemRandom();
const VERSION = MIGRATIONS.length;

let server: PostgresServer;
before(async () => {
  server = await startPostgres();
});
after(() => server?.[Symbol.asyncDispose]());

async function asked(url: string, sql: string): Promise<Record<string, unknown>[]> {
  const client = new Client({ connectionString: url });
  await client.connect();
  try {
    return (await client.query<Record<string, unknown>>(sql)).rows;
  } finally {
    await client.end();
  }
}

let users = 0;

/** A new user with only these rights; returns the URL of the database for that user. */
async function userOf(ownerUrl: string, rights = ''): Promise<{ user: string; url: string }> {
  const user = `user_${++users}`;
  await asked(ownerUrl, `CREATE ROLE ${user} LOGIN ${rights}`);
  const url = new URL(ownerUrl);
  url.username = user;
  return { user, url: url.href };
}

/** Appends and reads through the roles, as a node does. */
async function serveAt(url: string): Promise<void> {
  await using database = new Database({ url, connectionsMax: 4 });
  await using writing = new Database({ url, connectionsMax: 1 });
  const nextId = createUlids(systemClock, random);
  const { logOrigin } = await settleInstallation(database, { logOrigin: undefined, nextId });
  await createTenantStore(database, random).ensure('acme', NOW_MS);
  const committer = new PoolCommitter(random);
  const parts = { streams: STREAMS, clock: systemClock, random, nextId };
  const log = createLog({ writing, reading: database, committer, logOrigin, ...parts });
  const [result] = await log.append([request('acme', [draftOf(), draftOf()])], now());
  assert.equal(placedIn(result).length, 2);
  const key = recordOf('acme', { lookup: random.bytes(32) });
  const changes = [changeOf([key]), changeOf([nextVersion(key)])];
  const changed = await log.append(changes, now());
  assert.deepEqual(
    changed.map(({ status }) => status),
    ['Done', 'Done'],
  );
  const [found] = await createRecordReader(database).byLookup('ApiKey', key.lookup!);
  assert.equal(found?.version, 2);
}

describe('a user who is not the owner', () => {
  test('serves after the owner has migrated, and not before', async () => {
    const ownerUrl = await server.createDatabase();
    const { user, url } = await userOf(ownerUrl);
    {
      await using database = new Database({ url, connectionsMax: 1 });
      assert.equal(await versionIn(database), 0);
      await assert.rejects(ensureReady(database), {
        name: 'StartError',
        message: new RegExp(
          `no tables of this service, and the user ${user} may not make them .*tallystick migrate`,
        ),
      });
      assert.equal(await versionIn(database), 0);
    }
    const { place, ...done } = await provision({ url, ownerUrl });
    assert.deepEqual(done, { from: 0, to: VERSION, users: { Serving: user }, exposure: undefined });
    assert.equal(place, ownerUrl.replace('postgres@', ''));
    assert.deepEqual(await provision({ url, ownerUrl }), { ...done, place, from: VERSION });
    await using database = new Database({ url, connectionsMax: 1 });
    await ensureReady(database);
    await serveAt(url);
  });

  test('learns that there is nothing to migrate', async () => {
    const ownerUrl = await server.createDatabase();
    const { user, url } = await userOf(ownerUrl);
    const { place } = await provision({ url, ownerUrl });
    const nothing = { from: VERSION, to: VERSION, users: { Serving: user }, exposure: undefined, place };
    assert.deepEqual(await provision({ url, ownerUrl: undefined }), nothing);
  });

  test('sees and changes nothing without taking on a role', async () => {
    const ownerUrl = await server.createDatabase();
    const { url } = await userOf(ownerUrl);
    await provision({ url, ownerUrl });
    await serveAt(url);
    for (const table of [...Object.keys(TENANT_TABLES), ...Object.keys(COMMON_TABLES)]) {
      await assert.rejects(asked(url, `SELECT * FROM ${SCHEMA}.${table}`), /permission denied/, table);
      await assert.rejects(asked(url, `DELETE FROM ${SCHEMA}.${table}`), /permission denied/, table);
    }
    // Control: there are rows to see.
    const [entries] = await asked(ownerUrl, `SELECT count(*)::integer AS n FROM ${SCHEMA}.entries`);
    assert.ok(Number(entries?.['n']) >= 2);
  });

  test('changes and removes no entry in any role, and makes and drops no table', async () => {
    const ownerUrl = await server.createDatabase();
    const { url } = await userOf(ownerUrl);
    await provision({ url, ownerUrl });
    await serveAt(url);
    const inRole = (role: string, sql: string) =>
      asked(
        url,
        `BEGIN; SET LOCAL ROLE ${role}; SET LOCAL search_path = ${SCHEMA}; SET LOCAL app.tenants = 'acme'; ${sql}`,
      );
    for (const role of Object.values(DATABASE_ROLES)) {
      await inRole(role, 'SELECT * FROM entries');
      for (const sql of [
        'UPDATE entries SET leaf = leaf',
        'DELETE FROM entries',
        'TRUNCATE entries',
        'UPDATE contents SET expires_at_ms = expires_at_ms',
        ...(role === DATABASE_ROLES.Retention ? [] : ['UPDATE contents SET text2 = text2']),
        'DELETE FROM streams',
        'DELETE FROM heads',
        'DELETE FROM records',
      ])
        await assert.rejects(inRole(role, sql), /permission denied/, `${role}: ${sql}`);
      await assert.rejects(inRole(role, 'DROP TABLE entries'), /must be owner/, role);
      await assert.rejects(
        inRole(role, 'ALTER TABLE entries DISABLE ROW LEVEL SECURITY'),
        /must be owner/,
        role,
      );
      await assert.rejects(inRole(role, 'CREATE TABLE mine (id integer)'), /permission denied/, role);
    }
  });

  test('without its roles learns how to get them back', async () => {
    const ownerUrl = await server.createDatabase();
    const { user, url } = await userOf(ownerUrl);
    await provision({ url, ownerUrl });
    await asked(ownerUrl, `REVOKE ${DATABASE_ROLES.Projector} FROM ${user}`);
    await using database = new Database({ url, connectionsMax: 1 });
    const expected = {
      name: 'StartError',
      message:
        /^the user of Storage__Url may not take on the roles .*tallystick_projector.*`tallystick migrate` gives/,
    };
    await assert.rejects(requireReady(database), expected);
    await assert.rejects(ensureReady(database), expected);
    await provision({ url, ownerUrl });
    await ensureReady(database);
  });

  test('a user that inherited the rights of the roles no longer does', async () => {
    const ownerUrl = await server.createDatabase();
    const { user, url } = await userOf(ownerUrl);
    await provision({ url, ownerUrl });
    await asked(ownerUrl, `GRANT ${DATABASE_ROLES.Projector} TO ${user} WITH INHERIT TRUE`);
    await asked(url, `SELECT * FROM ${SCHEMA}.entries`);
    await provision({ url, ownerUrl });
    await assert.rejects(asked(url, `SELECT * FROM ${SCHEMA}.entries`), /permission denied/);
    await using database = new Database({ url, connectionsMax: 1 });
    assert.deepEqual(await database.read(ALL_TENANTS, statement('SELECT tenant_id FROM heads')), []);
  });
});

describe('a user who may make tables and roles', () => {
  test('needs no command: the first start makes them, of several nodes at once too', async () => {
    // A separate server, since the roles must not exist yet.
    await using alone = await startPostgres();
    const superUrl = await alone.createDatabase();
    const { user, url } = await userOf(superUrl, 'CREATEROLE');
    await asked(superUrl, `GRANT CREATE ON DATABASE ${new URL(url).pathname.slice(1)} TO ${user}`);
    const nodes = [1, 2, 3].map(() => new Database({ url, connectionsMax: 1 }));
    try {
      await Promise.all(nodes.map((node) => ensureReady(node)));
      await serveAt(url);
      // Though it owns the tables, it sees no row without a role.
      assert.deepEqual(await asked(url, `SELECT * FROM ${SCHEMA}.entries`), []);
      await ensureReady(nodes[0]!);
    } finally {
      for (const node of nodes) await node[Symbol.asyncDispose]();
    }
  });

  test('waits for another migration, without a time limit', async () => {
    const url = await server.createDatabase();
    const answerMsMax = 300;
    await using database = new Database({ url, connectionsMax: 1, answerMsMax });
    const other = new Client({ connectionString: url });
    await other.connect();
    await other.query(`SELECT pg_advisory_lock(${MIGRATION_LOCK})`);
    const migrating = migrate(database, 'postgres');
    migrating.catch(() => {});
    const waiting = "SELECT pid FROM pg_stat_activity WHERE wait_event = 'advisory'";
    while ((await other.query(waiting)).rows.length === 0);
    await new Promise((resolve) => setTimeout(resolve, 3 * answerMsMax));
    await other.end();
    assert.deepEqual(await migrating, { from: 0, to: VERSION });
  });

  test('tables of an older version wait for their migration, and keep their rows', async () => {
    const url = await server.createDatabase();
    await using database = new Database({ url, connectionsMax: 1 });
    await database.plainly(async (client) => {
      await client.query(`CREATE SCHEMA ${SCHEMA}; SET search_path = ${SCHEMA}`);
      for (const text of MIGRATIONS[0]!(byPartitions, false)) await client.query(text);
      await client.query(`INSERT INTO meta (name, value) VALUES ('schema_version', '1'), ('kept', 'it is')`);
      await client.query(
        `INSERT INTO used_keys (tenant_id, operation, key, fingerprint, expires_at_ms, note, outcomes)
         VALUES ('acme', 'events.ingest', 'k', decode(repeat('01', 32), 'hex'), 9, '', '')`,
      );
    });
    await assert.rejects(requireVersion(database, []), {
      name: 'StartError',
      message: `the database has tables of version 1; \`tallystick migrate\` brings it to version ${VERSION}`,
    });
    assert.deepEqual(await migrate(database, 'postgres'), { from: 1, to: VERSION });
    await requireVersion(database);
    const [kept] = await asked(url, `SELECT value FROM ${SCHEMA}.meta WHERE name = 'kept'`);
    assert.deepEqual(kept, { value: 'it is' });
    const [usedKey] = await asked(url, `SELECT classification FROM ${SCHEMA}.used_keys`);
    assert.equal(classificationIn(usedKey!), 'Secret', 'its classification is unknown');
  });

  test('no samples are taken of hashes, texts and terms, also not in partitions that are made later', async () => {
    const url = await server.createDatabase();
    await using database = new Database({ url, connectionsMax: 1 });
    await migrate(database, 'postgres');
    await asked(url, `SELECT ${SCHEMA}.ensure_content_month(700)`);
    const sampled = await asked(
      url,
      `SELECT attrelid::regclass::text AS part, attname FROM pg_attribute
       JOIN pg_inherits ON inhrelid = attrelid
       WHERE inhparent IN ('${SCHEMA}.entries'::regclass, '${SCHEMA}.contents'::regclass)
         AND attname IN ('entry', 'leaf', 'root1', 'root2', 'text1', 'text2', 'seeds', 'sent_fingerprint')
         AND attstattarget IS DISTINCT FROM 0`,
    );
    assert.deepEqual(sampled, []);
  });

  test('tables of a newer version are refused', async () => {
    const url = await server.createDatabase();
    await using database = new Database({ url, connectionsMax: 1 });
    await ensureReady(database);
    await asked(url, `UPDATE ${SCHEMA}.meta SET value = '99' WHERE name = 'schema_version'`);
    const expected = { name: 'StartError', message: /has tables of version 99/ };
    await assert.rejects(ensureReady(database), expected);
    await assert.rejects(provision({ url, ownerUrl: undefined }), expected);
  });
});

describe('errors that an operator can repair are one line', () => {
  test('the server is unreachable, or refuses this user', async () => {
    const url = await server.createDatabase();
    const elsewhere = 'postgres://app:hunter2@127.0.0.1:1/audit';
    for (const [urls, expected] of [
      [{ url: elsewhere, ownerUrl: url }, /^cannot connect to the database of Storage__Url: .*ECONNREFUSED/],
      [{ url, ownerUrl: elsewhere }, /^cannot connect to the database of Storage__OwnerUrl: .*ECONNREFUSED/],
      [
        { url: url.replace('postgres@', 'nobody:hunter2@'), ownerUrl: url },
        /^cannot connect to the database of Storage__Url: role "nobody" does not exist/,
      ],
      [
        { url: `${url}_not`, ownerUrl: url },
        /^cannot connect to the database of Storage__Url: database ".*_not" does not exist/,
      ],
    ] as const) {
      await assert.rejects(provision(urls), (error: Error) => {
        assert.equal(error.name, 'StartError');
        assert.match(error.message, expected);
        assert.doesNotMatch(error.message, /hunter2|\n/);
        return true;
      });
    }
  });

  test('the server is unreachable for work on existing tables', async () => {
    const url = 'postgres://app:hunter2@127.0.0.1:1/audit';
    const options = {
      url,
      logOrigin: 'x',
      streams: STREAMS,
      clock: systemClock,
      random: createSystemRandom(),
    };
    await assert.rejects(openPostgresStorage({ ...options, mayMigrate: false }), {
      name: 'StartError',
      message: /^cannot connect to the database of Storage__Url: .*ECONNREFUSED/,
    });
  });

  test('the owner is of another database, or may not make tables', async () => {
    const ownerUrl = await server.createDatabase();
    const { user, url } = await userOf(ownerUrl);
    const other = await server.createDatabase();
    await assert.rejects(provision({ url, ownerUrl: other }), {
      name: 'StartError',
      message: 'Storage__Url and Storage__OwnerUrl are not of the same database',
    });
    await using database = new Database({ url: other, connectionsMax: 1 });
    assert.equal(await versionIn(database), 0);
    await assert.rejects(provision({ url, ownerUrl: undefined }), {
      name: 'StartError',
      message: new RegExp(`^the user ${user} may not migrate the database .*Storage__OwnerUrl`),
    });
  });

  for (const setting of ['fsync', 'full_page_writes', 'synchronous_commit']) {
    test(`the database has ${setting} off, and gets no tables`, async () => {
      await using forgetful = await startPostgres({ [setting]: 'off' });
      const url = await forgetful.createDatabase();
      const expected = { name: 'StartError', message: new RegExp(`^the database has ${setting} off`) };
      await assert.rejects(provision({ url, ownerUrl: undefined }), expected);
      await using database = new Database({ url, connectionsMax: 1 });
      await assert.rejects(ensureReady(database), expected);
      assert.equal(await versionIn(database), 0);
    });
  }
});

test('a database that cannot hold every text is refused: no checkpoint could be stored in it', async () => {
  for (const encoding of ['LATIN1', 'SQL_ASCII']) {
    const name = `in_${encoding.toLowerCase()}`;
    await asked(server.url(), `CREATE DATABASE ${name} TEMPLATE template0 ENCODING '${encoding}' LOCALE 'C'`);
    await using database = new Database({ url: server.url(name), connectionsMax: 1 });
    await assert.rejects(ensureReady(database), new RegExp(`encoded as ${encoding}; it must be UTF8`));
  }
});
