// docs/operating/postgres.md on separate logins, run as it is printed: an installation with one user is divided while its
// nodes serve, and everything goes on; and what row-level security is said to protect from, and not to.

import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { join } from 'node:path';
import { after, before, it } from 'node:test';
import { promisify } from 'node:util';
import {
  ALL_TENANTS,
  Database,
  type DatabaseScope,
  statement,
} from '../packages/server/src/storage/postgres/connection/database.ts';
import { TENANT_TABLES } from '../packages/server/src/storage/postgres/schema/rights.ts';
import {
  adminCaller,
  callerOf,
  PLATFORM_KEY,
  WITH_PLATFORM_KEY,
} from '../packages/server/src/testing/admin-caller.ts';
import { raw } from '../packages/server/src/testing/postgres-nodes.ts';
import { type PostgresServer, startPostgres } from '../packages/server/src/testing/postgres-server.ts';
import { answersTo, questionsOn } from '../packages/server/src/testing/read-answers.ts';
import { startTestApp, type TestApp } from '../packages/server/src/testing/test-app.ts';
import { until } from '../packages/server/src/testing/until.ts';
import { temporaryFolder } from './faults/running.ts';
import { shellBlocks } from './shell-blocks.ts';
import { readText, ROOT } from './source.ts';

const PAGE = 'docs/operating/postgres.md';
const COMMAND = join(ROOT, 'packages/cli/bin/tallystick.js');
const API = '/api/v1';

let server: PostgresServer;
let superUrl: string;
const folder = temporaryFolder();
before(async () => {
  server = await startPostgres();
  superUrl = await server.createDatabase();
});
after(async () => {
  await server?.[Symbol.asyncDispose]();
  folder[Symbol.dispose]();
});

const databaseName = () => new URL(superUrl).pathname.slice(1);

/** The statements of the page: to make users, and to take roles from the one who serves. */
function statements(): readonly [make: string, revoke: string] {
  const blocks = [...readText(PAGE).matchAll(/```sql\n([\s\S]*?)```/g)].map((block) => block[1]!);
  assert.equal(blocks.length, 2);
  return [blocks[0]!.replace('DATABASE audit', `DATABASE ${databaseName()}`), blocks[1]!];
}

/** The commands of the page, with the place of this database. */
function commands(): string {
  const [block = '', ...more] = shellBlocks(PAGE);
  assert.deepEqual(more, []);
  return block.replaceAll('@db/audit', `@127.0.0.1:${server.port}/${databaseName()}`);
}

/** The settings that the page gives to the service. */
function settings(): Record<string, string> {
  const exported = [...commands().matchAll(/^export (\w+)=(\S+)$/gm)];
  assert.equal(exported.length, 3);
  return Object.fromEntries(exported.map(([, name, value]) => [name!, value!]));
}

/** Runs the commands, or those that are left of them. */
async function run(chosen = commands()): Promise<{ readonly stdout: string; readonly stderr: string }> {
  const script = `tallystick() { '${process.execPath}' --conditions=source '${COMMAND}' "$@"; }\n${chosen}`;
  return promisify(execFile)('bash', ['-ec', script], { cwd: folder.path });
}

const start = (more: Readonly<Record<string, string>>) =>
  startTestApp({
    Storage__DataDirectory: join(folder.path, 'data'),
    Log__CheckpointInterval: 'PT0.05S',
    ...WITH_PLATFORM_KEY,
    ...more,
  });

/** Lines that are worse than news. */
const warnings = (app: TestApp) =>
  app.lines.filter(({ level }) => !['info', 'debug'].includes(String(level).toLowerCase()));

async function answered(app: TestApp, path: string, body?: unknown, tenant = 'acme'): Promise<string> {
  const caller = adminCaller(app, tenant);
  const { status, text } = await (body === undefined ? caller.get(path) : caller.post(path, body));
  assert.ok(status >= 200 && status < 300, `${path}: ${status} ${text}`);
  return text;
}

async function listed<T>(app: TestApp, path: string): Promise<T[]> {
  return (JSON.parse(await answered(app, `${API}${path}`)) as { data: T[] }).data;
}

async function rebuild(app: TestApp): Promise<void> {
  const text = await answered(app, `${API}/admin/projections/rebuild`, {});
  const { operationId } = JSON.parse(text) as { operationId: string };
  const path = `${API}/admin/operations/${operationId}`;
  await until(async () => (await answered(app, path)).includes('"status":"Completed"'));
}

/** Until a checkpoint covers the whole log of acme. */
async function untilSigned(app: TestApp): Promise<void> {
  await until(async () => {
    const [head] = await raw(superUrl, "SELECT next_index FROM heads WHERE tenant_id = 'acme'");
    const { text } = await adminCaller(app, 'acme').get(`${API}/checkpoints/latest`);
    return text.includes(`"treeSize":${String(head?.['next_index'])},`);
  });
}

/** Writes and reads in every way over both nodes, which then answer the same. */
async function requireWhole(nodes: readonly [TestApp, TestApp]): Promise<void> {
  for (const app of nodes) {
    for (const tenant of ['acme', 'beta']) await adminCaller(app, tenant).send(3);
    await (await callerOf(app, 'acme')).send();
    const made = await answered(app, `${API}/admin/api-keys`, { name: 'test', roles: ['Viewer'] });
    const { keyId } = JSON.parse(made) as { keyId: string };
    await answered(app, `${API}/admin/api-keys/${keyId}/rotate`, {});
    await answered(app, `${API}/admin/api-keys/${keyId}`);
    for (const path of ['/status', '/admin/metrics', '/admin/dead-letter-queue', '/health/ready'])
      await answered(app, `${API}${path}`);
    await rebuild(app);
    const streams = await listed<{ streamId: string; status: string }>(app, '/event-streams');
    await answered(app, `${API}/event-streams/${streams[0]!.streamId}/seal`, {});
  }
  for (const app of nodes) await untilSigned(app);
  const questions = await questionsOn(nodes[0], 'acme', PLATFORM_KEY);
  const [first, second] = [
    await answersTo(questions, nodes[0], 'acme', PLATFORM_KEY),
    await answersTo(questions, nodes[1], 'acme', PLATFORM_KEY),
  ];
  assert.ok(Object.keys(first).length > 20);
  for (const [question, answer] of Object.entries(first)) assert.match(answer, /^200 /, question);
  assert.deepEqual(second, first);
}

/** How many connections each user has. */
async function connections(): Promise<Record<string, number>> {
  const rows = await raw(
    superUrl,
    `SELECT usename AS user, count(*)::integer AS count FROM pg_stat_activity
     WHERE application_name LIKE 'tallystick%' GROUP BY usename`,
  );
  return Object.fromEntries(rows.map(({ user, count }) => [String(user), Number(count)]));
}

it('an installation with one user is divided while it serves, as the page says', async () => {
  const [make, revoke] = statements();
  await raw(superUrl, make);
  const alone = await run(commands().replaceAll(/^export Storage__(Index|Retention)Url=.*\n/gm, ''));
  assert.match(alone.stdout, /\nthe user app may serve it\n$/);
  assert.equal(alone.stderr, '');
  await using stack = new AsyncDisposableStack();
  const { Storage__Url = '', ...others } = settings();
  const before = stack.use(await start({ Storage__Url, Node__Name: 'before' }));
  await adminCaller(before, 'acme').send(2);

  const divided = await run();
  assert.match(
    divided.stdout,
    /\nthe user app may serve it\nthe user app_index may do what concerns all tenants\nthe user app_retention may remove content\n$/,
  );
  const [said = '', end = ''] = divided.stderr.trimEnd().split(', run ');
  assert.match(said, /^tallystick: the user of Storage__Url may still take on /);
  assert.equal(`${end};`, revoke.replaceAll(/\s+/g, ' ').trim());
  const a = stack.use(await start({ Storage__Url, ...others, Node__Name: 'a' }));
  assert.deepEqual(
    warnings(a).map(({ message }) => `tallystick: ${String(message)}\n`),
    [divided.stderr],
  );
  // One that has one user and one that has several serve beside each other.
  for (const app of [before, a]) await adminCaller(app, 'acme').send();
  await before[Symbol.asyncDispose]();

  await raw(superUrl, revoke);
  const b = stack.use(await start({ Storage__Url, ...others, Node__Name: 'b' }));
  await requireWhole([a, b]);
  assert.deepEqual([warnings(a).length, warnings(b)], [1, []]);
  const { app = 0, app_index = 0, ...more } = await connections();
  assert.ok(app > 0 && app <= 2 * 15, `${app} as the user who serves`);
  assert.ok(app_index > 0 && app_index <= 2 * 16, `${app_index} as the user of the index`);
  assert.ok(
    Object.keys(more).every((user) => user === 'app_retention'),
    JSON.stringify(more),
  );

  for (const words of [`verify ${a.dataDirectory}`, 'bundle --tenant acme', 'keys list']) {
    const script = commands().replace(/^Storage__OwnerUrl=.*$/m, `tallystick ${words}`);
    const { stdout } = await run(`export Storage__DataDirectory=${a.dataDirectory}\n${script}`);
    assert.match(stdout, /verified|wrote|acme/, words);
  }
});

/** The tenants whose rows a role finds in each table that it may read, by the user of `url` alone. */
async function tenantsSeen(url: string, scope: DatabaseScope): Promise<Map<string, unknown[]>> {
  await using database = new Database({ url, connectionsMax: 1 });
  const seen = new Map<string, unknown[]>();
  for (const [table, rights] of Object.entries(TENANT_TABLES)) {
    if (rights[scope.role]?.includes('SELECT') !== true) continue;
    const rows = await database.read(scope, statement(`SELECT DISTINCT tenant_id FROM ${table} ORDER BY 1`));
    seen.set(
      table,
      rows.map(({ tenant_id: tenant }) => tenant),
    );
  }
  return seen;
}

it('row-level security protects from what the page says, and from no more', async () => {
  const { Storage__Url = '', Storage__IndexUrl = '' } = settings();
  for (const role of ['Reader', 'Writer'] as const) {
    for (const [table, tenants] of await tenantsSeen(Storage__Url, { role, tenants: ['acme'] }))
      assert.ok(
        tenants.every((tenant) => tenant === 'acme'),
        `${role} finds ${tenants.join()} in ${table}`,
      );
    for (const [table, tenants] of await tenantsSeen(Storage__Url, { role, tenants: [] }))
      assert.deepEqual(tenants, [], `${role} in ${table}`);
  }
  for (const role of ['projector', 'verifier', 'retention'])
    await assert.rejects(raw(Storage__Url, `SET ROLE tallystick_${role}`), /permission denied to set role/);
  // Control: there are rows of others, which the user of the index sees.
  const all = await tenantsSeen(Storage__IndexUrl, ALL_TENANTS);
  for (const table of ['heads', 'entries', 'contents', 'checkpoints'])
    assert.deepEqual(
      all.get(table)?.filter((tenant) => tenant !== '*'),
      ['acme', 'beta'],
      table,
    );

  await using database = new Database({ url: Storage__Url, connectionsMax: 1 });
  const renamed = await database.inTransaction({ role: 'Reader', tenants: ['acme'] }, async (transaction) => {
    await transaction.query(statement("SELECT set_config('app.tenants', 'beta', true)"));
    return transaction.query(statement('SELECT tenant_id FROM heads'));
  });
  assert.deepEqual(renamed, [{ tenant_id: 'beta' }]);
  const platform = statement("UPDATE records SET state = state WHERE tenant_id = '*'");
  const changed = await database.inTransaction({ role: 'Writer', tenants: ['*'] }, (transaction) =>
    transaction.change(platform),
  );
  assert.equal(changed, 1);
});
