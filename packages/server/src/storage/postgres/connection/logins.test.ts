// Separate users for work on all tenants and for removing content: what they keep from the serving user, and which
// setups are refused or reported. Roles belong to the whole server, so each test has its own users.

import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { systemClock } from '../../../runtime/clock.ts';
import { createSystemRandom } from '../../../runtime/random.ts';
import { StartError } from '../../../start-error.ts';
import { raw } from '../../../testing/postgres-nodes.ts';
import { type PostgresServer, startPostgres } from '../../../testing/postgres-server.ts';
import { STREAMS } from '../../conformance/claims.ts';
import { ALL_TENANTS, Database, type DatabaseScope, statement } from './database.ts';
import type { LoginUrls } from './logins.ts';
import { openPostgresStorage } from '../postgres-storage.ts';
import { provision } from '../schema/provision.ts';
import { DATABASE_ROLES } from '../schema/rights.ts';

let server: PostgresServer;
before(async () => {
  server = await startPostgres();
});
after(() => server?.[Symbol.asyncDispose]());

let places = 0;

interface Place extends LoginUrls {
  readonly ownerUrl: string;
  readonly indexUrl: string;
  readonly retentionUrl: string;
  /** The names of the users. */
  readonly serving: string;
  readonly index: string;
}

/** A database without tables, and users without rights. */
async function newPlace(): Promise<Place> {
  const ownerUrl = await server.createDatabase();
  const nth = ++places;
  const [serving, index, retention] = [`serving_${nth}`, `index_${nth}`, `retention_${nth}`];
  for (const user of [serving, index, retention]) await raw(ownerUrl, `CREATE ROLE ${user} LOGIN`);
  const as = (user: string) => ownerUrl.replace('postgres@', `${user}:hunter2@`);
  const urls = { url: as(serving), indexUrl: as(index), retentionUrl: as(retention) };
  return { ownerUrl, ...urls, serving, index };
}

/** After `tallystick migrate` for these users. */
async function migratedPlace(): Promise<Place> {
  const place = await newPlace();
  const { exposure, users } = await provision(place);
  assert.equal(exposure, undefined);
  assert.deepEqual(Object.keys(users), ['Serving', 'Index', 'Retention']);
  return place;
}

/** The exposure that the service reports for these users. */
async function toldOf({ url, indexUrl, retentionUrl }: LoginUrls): Promise<string[]> {
  const told: string[] = [];
  await using _ = await openPostgresStorage({
    url,
    indexUrl,
    retentionUrl,
    logOrigin: 'audit.example.com',
    streams: STREAMS,
    clock: systemClock,
    random: createSystemRandom(),
    onExposure: (line) => told.push(line),
  });
  return told;
}

/** The one-line error. */
async function refusalOf(opening: Promise<unknown>): Promise<string> {
  const error = await opening.then(
    () => assert.fail('it was not refused'),
    (failure: unknown) => failure,
  );
  assert.ok(error instanceof StartError, String(error));
  assert.doesNotMatch(error.message, /hunter2|\n/);
  return error.message;
}

const ADD = statement('INSERT INTO heads (tenant_id) VALUES ($1)');
const TENANTS = statement('SELECT tenant_id FROM heads ORDER BY tenant_id');
const KEPT = [DATABASE_ROLES.Projector, DATABASE_ROLES.Verifier, DATABASE_ROLES.Retention];

async function addTenants(url: string): Promise<void> {
  await using database = new Database({ url, connectionsMax: 1 });
  for (const tenant of ['acme', 'beta'])
    await database.inTransaction({ role: 'Writer', tenants: [tenant] }, (t) => t.change(ADD, [tenant]));
}

/** As the user of `url`, with any role. */
async function seenBy(url: string, scope: DatabaseScope): Promise<unknown[]> {
  await using database = new Database({ url, connectionsMax: 1 });
  return (await database.read(scope, TENANTS)).map(({ tenant_id: tenant }) => tenant);
}

describe('the user who serves, beside others', () => {
  test('takes on no role that sees all tenants or removes content, and sees the tenants that are named', async () => {
    const { url, indexUrl } = await migratedPlace();
    await addTenants(url);
    for (const role of KEPT) {
      // Also by a single statement, as in an SQL injection.
      for (const sql of [`SET ROLE ${role}`, `SELECT set_config('role', '${role}', false)`])
        await assert.rejects(raw(url, sql), /permission denied to set role/, sql);
      await assert.rejects(raw(url, `GRANT ${role} TO current_user`), /permission denied/, role);
    }
    // Its role is refused, and so are the following statements.
    await assert.rejects(seenBy(url, ALL_TENANTS), /transaction is aborted/);
    assert.deepEqual(await seenBy(url, { role: 'Reader', tenants: ['acme'] }), ['acme']);
    assert.deepEqual(await seenBy(url, { role: 'Writer', tenants: ['beta'] }), ['beta']);
    // Control: the user of the index sees more.
    assert.deepEqual(await seenBy(indexUrl, ALL_TENANTS), ['acme', 'beta']);
  });

  test('control: alone it takes on every role, and sees all tenants', async () => {
    const { url, ownerUrl } = await newPlace();
    await provision({ url, ownerUrl });
    await addTenants(url);
    for (const role of KEPT) await raw(url, `SET ROLE ${role}`);
    assert.deepEqual(await seenBy(url, ALL_TENANTS), ['acme', 'beta']);
  });

  test('keeps the work that has no separate user', async () => {
    for (const [alone, kept] of [
      ['indexUrl', [DATABASE_ROLES.Projector, DATABASE_ROLES.Verifier]],
      ['retentionUrl', [DATABASE_ROLES.Retention]],
    ] as const) {
      const { url, ownerUrl, ...others } = await newPlace();
      const urls = { url, [alone]: others[alone] };
      await provision({ ...urls, ownerUrl });
      for (const role of Object.values(DATABASE_ROLES)) {
        const taking = raw(url, `SET ROLE ${role}`);
        if (kept.includes(role as never)) await assert.rejects(taking, /permission denied/, role);
        else await taking;
      }
      assert.deepEqual(await toldOf(urls), []);
    }
  });
});

test('the users of the index and of retention take on their roles and no more', async () => {
  const { indexUrl, retentionUrl } = await migratedPlace();
  const mayTake = async (url: string) => {
    const rows = await raw(
      url,
      `SELECT role FROM unnest($1::text[]) AS role WHERE pg_has_role(role, 'MEMBER') ORDER BY role`,
      [Object.values(DATABASE_ROLES)],
    );
    return rows.map(({ role }) => role);
  };
  assert.deepEqual(await mayTake(indexUrl), [DATABASE_ROLES.Projector, DATABASE_ROLES.Verifier].toSorted());
  assert.deepEqual(await mayTake(retentionUrl), [DATABASE_ROLES.Retention]);
});

test('each statement goes over the connection of the user whose role it is in', async () => {
  const { url, indexUrl, retentionUrl, serving, index } = await migratedPlace();
  await using database = new Database({ url, indexUrl, retentionUrl, connectionsMax: 1 });
  const who = statement('SELECT session_user::text AS user, current_user::text AS role');
  const asked = async (scope: DatabaseScope) => {
    const [row] = await database.read(scope, who);
    return [row?.['user'], row?.['role']];
  };
  const tenants = ['acme'];
  assert.deepEqual(await asked({ role: 'Reader', tenants }), [serving, DATABASE_ROLES.Reader]);
  assert.deepEqual(await asked({ role: 'Writer', tenants }), [serving, DATABASE_ROLES.Writer]);
  assert.deepEqual(await asked(ALL_TENANTS), [index, DATABASE_ROLES.Projector]);
  const [, role] = await asked({ role: 'Retention', tenants });
  assert.equal(role, DATABASE_ROLES.Retention);
});

describe('users who could be mistaken for separate ones', () => {
  test('a user of another database is refused, by the command and by the service', async () => {
    const place = await migratedPlace();
    const elsewhere = (await migratedPlace()).indexUrl;
    for (const [name, setting] of [
      ['indexUrl', 'Storage__IndexUrl'],
      ['retentionUrl', 'Storage__RetentionUrl'],
    ] as const) {
      const urls = { ...place, [name]: elsewhere };
      const expected = `Storage__Url and ${setting} are not of the same database`;
      assert.equal(await refusalOf(provision(urls)), expected);
      assert.equal(await refusalOf(toldOf(urls)), expected);
    }
  });

  test('the user who serves is refused as another one', async () => {
    const place = await migratedPlace();
    const expected = `Storage__IndexUrl names the user ${place.serving}, who is that of Storage__Url: name another one, or leave the setting out`;
    assert.equal(await refusalOf(provision({ ...place, indexUrl: place.url })), expected);
    assert.equal(await refusalOf(toldOf({ ...place, indexUrl: place.url })), expected);
  });

  test('one that does not answer, or may not take on its roles, is named', async () => {
    const place = await migratedPlace();
    assert.match(
      await refusalOf(toldOf({ ...place, indexUrl: place.indexUrl.replace(place.index, 'nobody') })),
      /^cannot connect to the database of Storage__IndexUrl: role "nobody" does not exist/,
    );
    const { indexUrl } = await newPlace();
    const database = new URL(place.url).pathname;
    assert.match(
      await refusalOf(toldOf({ ...place, indexUrl: new URL(database, indexUrl).href })),
      /^the user of Storage__IndexUrl may not take on the roles .*tallystick_projector.*`tallystick migrate` gives/,
    );
  });

  test('the user who serves makes no tables: it would own them', async () => {
    const { ownerUrl, ...place } = await newPlace();
    await raw(ownerUrl, `ALTER ROLE ${place.serving} SUPERUSER`);
    assert.equal(
      await refusalOf(toldOf(place)),
      `the database has no tables of this service, and with Storage__IndexUrl the user ${place.serving}, who serves, is not to make them: run \`tallystick migrate\` with Storage__OwnerUrl`,
    );
  });
});

describe('a serving user with the rights of others', () => {
  test('is reported with the commands that fix it, and no longer after they are run', async () => {
    const { ownerUrl, ...place } = await newPlace();
    await provision({ url: place.url, ownerUrl });
    const { exposure } = await provision({ ...place, ownerUrl });
    const [line, ...more] = await toldOf(place);
    assert.deepEqual([line, more], [exposure, []]);
    const roles = KEPT.toSorted().join(', ');
    const [said = '', end = ''] = line!.split(', run ');
    assert.match(
      said,
      /^the user of Storage__Url may still take on .*: once every node has Storage__IndexUrl and Storage__RetentionUrl$/,
    );
    assert.equal(end, `REVOKE ${roles} FROM ${place.serving} GRANTED BY postgres`);
    await raw(ownerUrl, end);
    assert.deepEqual(await toldOf(place), []);
    await assert.rejects(
      raw(place.url, `SET ROLE ${DATABASE_ROLES.Projector}`),
      /permission denied to set role/,
    );
  });

  test('also through another role, as a superuser, past the policies, or as the owner', async () => {
    const { ownerUrl, ...place } = await newPlace();
    await provision({ ...place, ownerUrl });
    const { serving } = place;
    const team = `team_${serving}`;
    await raw(ownerUrl, `CREATE ROLE ${team}`);
    for (const [change, back, expected] of [
      [
        `GRANT ${DATABASE_ROLES.Projector} TO ${team}; GRANT ${team} TO ${serving}`,
        `REVOKE ${team} FROM ${serving}`,
        /still take on tallystick_projector: .*, end its membership of the role by which it has them$/,
      ],
      [
        `GRANT ${DATABASE_ROLES.Projector} TO ${serving} WITH ADMIN TRUE, SET FALSE, INHERIT FALSE`,
        `REVOKE ${DATABASE_ROLES.Projector} FROM ${serving}`,
        /still take on tallystick_projector: .*, run REVOKE tallystick_projector FROM/,
      ],
      [`ALTER ROLE ${serving} SUPERUSER`, `ALTER ROLE ${serving} NOSUPERUSER`, /is a superuser, so nothing/],
      [`ALTER ROLE ${serving} BYPASSRLS`, `ALTER ROLE ${serving} NOBYPASSRLS`, /has BYPASSRLS, so nothing/],
      [
        `ALTER TABLE entries OWNER TO ${serving}`,
        'ALTER TABLE entries OWNER TO postgres',
        /owns the tables, so nothing is kept from it by Storage__IndexUrl and Storage__RetentionUrl: name another user/,
      ],
    ] as const) {
      await raw(ownerUrl, change);
      const told = await toldOf(place);
      assert.equal(told.length, 1, change);
      assert.match(told[0]!, expected);
      await raw(ownerUrl, back);
      assert.deepEqual(await toldOf(place), []);
    }
  });
});
