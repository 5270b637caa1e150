// Several services on one PostgreSQL database, with one data directory: each serves, and they keep one anchor together.

import assert from 'node:assert/strict';
import { chmodSync, cpSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { basename, join } from 'node:path';
import { after, before, test } from 'node:test';
import { noteVerifier, parseEventProof, verifyEventProof } from '@tallystick/evidence';
import { loadConfig } from '../config/config.ts';
import type { Gateway } from '../gateway/pipeline.ts';
import { openRecovery } from '../operate/recover.ts';
import { StartError } from '../start-error.ts';
import { anchorFilesAt } from '../storage/anchor/files.ts';
import { EVENT } from '../testing/bound-operations.ts';
import { believeClearance, eventCaller } from '../testing/event-caller.ts';
import { type Databases, openDatabases } from '../testing/postgres-server.ts';
import { sequencesOf, tailing, tailMount } from '../testing/tail-mount.ts';
import { startTestApp, type TestApp } from '../testing/test-app.ts';
import { until } from '../testing/until.ts';

/** However slow the machine is. */
const PATIENCE_MS = 120_000;

let server: Databases;
let folder: string;
before(async () => {
  server = await openDatabases();
  folder = mkdtempSync(join(tmpdir(), 'tallystick-nodes-'));
});
after(async () => {
  await server?.[Symbol.asyncDispose]();
  rmSync(folder, { recursive: true, force: true });
});

const settingsOf = (url: string, directory: string, node: string) => ({
  Environment: 'Test',
  Storage__Url: url,
  Storage__DataDirectory: directory,
  Node__Name: node,
  Log__CheckpointInterval: 'PT0.05S',
});

/** One keyring for all, wherever they keep the rest. */
const keyringIn = (directory: string) => ({ Encryption__Keyring: join(directory, 'keyring.json') });

const start = (url: string, directory: string, node: string, more = {}): Promise<TestApp> =>
  startTestApp({ ...settingsOf(url, directory, node), ...more }, { authenticate: believeClearance });

async function ingest(app: TestApp, tenant = 'acme'): Promise<string> {
  const { code, body } = await eventCaller(app, tenant).ingest(EVENT);
  assert.equal(code, '201', JSON.stringify(body));
  return body.eventId;
}

const ask = (app: TestApp, path: string, tenant = 'acme') =>
  fetch(`${app.url}/api/v1${path}`, { headers: { 'X-API-Key': 'Secret', 'X-Tenant-Id': tenant } });

/** A proof that holds, however long it takes until a checkpoint covers the event. */
async function prove(app: TestApp, eventId: string, tenant = 'acme'): Promise<void> {
  const deadline = Date.now() + PATIENCE_MS;
  for (;;) {
    const response = await ask(app, `/audit-events/${eventId}/proof`, tenant);
    const text = await response.text();
    if (response.status === 200) {
      const key = await (await ask(app, `/log/t/${tenant}/key`, tenant)).text();
      const verifiers = [await noteVerifier(key.trim())];
      assert.ok((await verifyEventProof(parseEventProof(text), { verifiers })).whole);
      return;
    }
    assert.ok(Date.now() < deadline, text);
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
}

test('a tail on one node has what is appended on another', async () => {
  const [url, directory] = [await server.createDatabase(), join(folder, 'tail')];
  await using stack = new AsyncDisposableStack();
  const a = stack.use(await start(url, directory, 'a'));
  const mounts = (gateway: Gateway) => [tailMount(gateway)];
  const settings = settingsOf(url, directory, 'b');
  const b = stack.use(await startTestApp(settings, { authenticate: believeClearance, mounts }));
  await ingest(a);
  await using tail = await tailing(b, 'Secret', 'acme', 1);
  assert.deepEqual(await sequencesOf(tail, 1), [1]);
  await ingest(a);
  assert.deepEqual(await sequencesOf(tail, 1), [2]);
});

test('two that start at once on an empty data directory both serve, with one key and one anchor', async () => {
  const [url, directory] = [await server.createDatabase(), join(folder, 'both')];
  await using stack = new AsyncDisposableStack();
  const [a, b] = await Promise.all(
    ['a', 'b'].map(async (node) => stack.use(await start(url, directory, node))),
  );
  assert.ok(a !== undefined && b !== undefined);
  assert.equal([a.firstKey, b.firstKey].filter((key) => key !== undefined).length, 1);
  assert.deepEqual(readdirSync(join(directory, 'signing-keys')).sort(), ['0001.json', '0001.pem']);
  const ids = await Promise.all([a, b, a, b].map((app) => ingest(app)));
  for (const app of [a, b]) for (const id of ids) await prove(app, id);
  await assert.rejects(start(url, directory, 'a'), (error) => {
    assert.ok(error instanceof StartError);
    assert.match(error.message, /another node with the name a .*Node__Name/);
    return true;
  });
  // One that has the keys as a copy, and shares nothing but the anchor.
  const own = join(folder, 'own');
  cpSync(join(directory, 'signing-keys'), join(own, 'signing-keys'), { recursive: true });
  chmodSync(join(own, 'signing-keys'), 0o700);
  const c = stack.use(await start(url, own, 'c', { Log__Anchor: directory, ...keyringIn(directory) }));
  const id = await ingest(c);
  for (const app of [a, b, c]) await prove(app, id);
  assert.deepEqual(
    await anchorFilesAt(directory),
    ['a', 'b', 'c'].map((node) => join(directory, `anchor-${node}`)),
  );
  for (const { lines } of [a, b, c])
    assert.deepEqual(
      lines.filter(({ level }) => level === 'Error'),
      [],
    );
});

test('a node that has lost its anchor leaves its logs to another, which signs them', async () => {
  const [url, directory] = [await server.createDatabase(), join(folder, 'anchor-lost')];
  await using a = await start(url, directory, 'a');
  const own = join(folder, 'anchor-lost-own');
  cpSync(join(directory, 'signing-keys'), join(own, 'signing-keys'), { recursive: true });
  chmodSync(join(own, 'signing-keys'), 0o700);
  // Of its own, so that only this one is without.
  const anchor = join(own, 'anchor');
  mkdirSync(anchor);
  // With the log of the installation, which is signed by now.
  const isSigned = (path: string) => readFileSync(path, 'utf8').includes('/installation ');
  await until(async () => (await anchorFilesAt(directory)).some(isSigned));
  for (const path of await anchorFilesAt(directory)) cpSync(path, join(anchor, basename(path)));
  await using b = await start(url, own, 'b', { Log__Anchor: anchor, ...keyringIn(directory) });
  rmSync(anchor, { recursive: true });
  // So many that some of them are in shares of each node, and so often that b, which has just come, has some.
  const tenants = Array.from({ length: 10 }, (_, i) => `tenant-${i}`);
  const said = () =>
    b.lines.some(({ message }) => String(message).startsWith('this node makes no checkpoints'));
  const deadline = Date.now() + 20_000;
  for (let isLast = false; !isLast; ) {
    isLast = said();
    const ids = await Promise.all(tenants.map((tenant) => ingest(b, tenant)));
    await Promise.all(tenants.map((tenant, i) => prove(a, ids[i]!, tenant)));
    assert.ok(Date.now() < deadline, 'b has not noticed that its anchor is lost');
  }
});

test('a database that was put back is behind what any of them has anchored, and that log alone is refused', async () => {
  const [url, directory] = [await server.createDatabase(), join(folder, 'put-back')];
  {
    await using a = await start(url, directory, 'a');
    await prove(a, await ingest(a, 'quiet'), 'quiet');
    await prove(a, await ingest(a));
  }
  const copy = await server.createDatabase(url);
  {
    await using b = await start(url, directory, 'b');
    await prove(b, await ingest(b));
    const { config } = loadConfig({ variables: settingsOf(url, directory, 'x'), workingDirectory: folder });
    await assert.rejects(openRecovery(config), /stop every node first/);
  }
  const { config } = loadConfig({ variables: settingsOf(copy, directory, 'a'), workingDirectory: folder });
  {
    await using recovery = await openRecovery(config);
    assert.deepEqual(
      recovery.disagreements.map(({ tenant, kind }) => [tenant, kind]),
      [['acme', 'Behind']],
    );
    await assert.rejects(start(copy, directory, 'a'), /tallystick recover/);
  }
  {
    await using a = await start(copy, directory, 'a');
    assert.equal((await eventCaller(a).ingest(EVENT)).code, '503 SERVICE_UNAVAILABLE');
    await prove(a, await ingest(a, 'quiet'), 'quiet');
  }
  {
    await using recovery = await openRecovery(config);
    const [disagreement] = recovery.disagreements;
    await recovery.begin(disagreement!);
  }
  await using c = await start(copy, directory, 'c');
  // The refusal has ended, and the node that reported it is gone.
  assert.equal((await eventCaller(c).ingest(EVENT)).code, '201');
  await prove(c, await ingest(c));
});

test('without the files of all nodes none starts; without those of one its logs are refused; accepted, all go on', async () => {
  const [url, directory] = [await server.createDatabase(), join(folder, 'anchor-gone')];
  const fileOf = (node: string) => join(directory, `anchor-${node}`);
  {
    await using a = await start(url, directory, 'a');
    await prove(a, await ingest(a, 'quiet'), 'quiet');
    await prove(a, await ingest(a));
  }
  {
    // A new node has no file of its own yet: those of the others are enough.
    await using b = await start(url, directory, 'b');
    await prove(b, await ingest(b));
  }
  rmSync(fileOf('b'));
  const { config } = loadConfig({ variables: settingsOf(url, directory, 'a'), workingDirectory: folder });
  for (const node of ['a', 'b', 'c']) {
    await using app = await start(url, directory, node);
    const { code } = await eventCaller(app).ingest(EVENT);
    assert.equal(code, '503 SERVICE_UNAVAILABLE', node);
    await prove(app, await ingest(app, 'quiet'), 'quiet');
  }
  for (const path of await anchorFilesAt(directory)) rmSync(path);
  for (const node of ['a', 'd'])
    await assert.rejects(
      start(url, directory, node),
      /^StartError: the anchor in \S+ knows none of the logs/,
    );
  {
    await using recovery = await openRecovery(config);
    const { accepted, without } = await recovery.acceptLostAnchor();
    assert.deepEqual([accepted.map(({ tenant }) => tenant), without.size], [['*', 'acme', 'quiet'], 0]);
  }
  await using d = await start(url, directory, 'd');
  for (const tenant of ['acme', 'quiet']) await prove(d, await ingest(d, tenant), tenant);
});
