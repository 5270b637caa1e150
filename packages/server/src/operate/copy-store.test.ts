// A service moves from its data directory into a database: everything that was proven before is proven after, by the same
// bytes, and the log goes on.

import assert from 'node:assert/strict';
import { existsSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import {
  type Checkpoint,
  fromBase64,
  parseCheckpoint,
  parseNote,
  verifyConsistency,
} from '@tallystick/evidence';
import { createKey } from '../operate.ts';
import { StartError } from '../start-error.ts';
import { MOVED_FILE } from '../storage/files/moved-store.ts';
import { adminCaller } from '../testing/admin-caller.ts';
import { EVENT } from '../testing/bound-operations.ts';
import { type LivedInStore, livedInStore, TENANTS } from '../testing/lived-in-store.ts';
import { raw } from '../testing/postgres-nodes.ts';
import { type PostgresServer, startPostgres } from '../testing/postgres-server.ts';
import { answersTo, type ReadRequest, questionsOn } from '../testing/read-answers.ts';
import type { TestApp } from '../testing/test-app.ts';
import { type CopiedStore, copyStore } from './copy-store.ts';
import { openStorage } from './open-data.ts';

let server: PostgresServer;
let made: LivedInStore;
before(async () => {
  server = await startPostgres();
  made = await livedInStore();
});
after(async () => {
  made?.[Symbol.dispose]();
  await server?.[Symbol.asyncDispose]();
});

const NEW_KEY = {
  name: 'new',
  roles: ['Viewer'],
  scopes: [],
  clearance: undefined,
  lifetimeMs: undefined,
} as const;

/** So much further does each attempt get that is killed. */
const STEP = 5;

/** Stops, as if it were killed, when it has told so often how far it is. */
function copyUntil(store: LivedInStore, url: string, told: number): Promise<CopiedStore> {
  let left = told;
  return copyStore(store.config(url), () => {
    if (--left < 0) throw new Error('killed');
  });
}

function copyAll(store: LivedInStore, url: string): Promise<CopiedStore> {
  return copyUntil(store, url, Infinity);
}

async function refusal(work: Promise<unknown>): Promise<string> {
  try {
    const done = await work;
    if (isDisposable(done)) await done[Symbol.asyncDispose]();
  } catch (error) {
    assert.ok(error instanceof StartError, String(error));
    return error.message;
  }
  throw new Error('it was not refused');
}

/** As a service opens it, or with a URL the database. */
function opened(store: LivedInStore, url?: string): Promise<AsyncDisposable> {
  return openStorage(store.config(url), true);
}

function isDisposable(value: unknown): value is AsyncDisposable {
  return typeof value === 'object' && value !== null && Symbol.asyncDispose in value;
}

async function allAnswers(app: TestApp, store: LivedInStore, asked: Map<string, ReadRequest[]>) {
  const answers = new Map<string, Record<string, string>>();
  for (const tenant of TENANTS) {
    const key = store.readers.get(tenant)!;
    if (!asked.has(tenant)) asked.set(tenant, await questionsOn(app, tenant, key));
    answers.set(tenant, await answersTo(asked.get(tenant)!, app, tenant, key));
  }
  return answers;
}

async function checkpointOf(app: TestApp, tenant: string) {
  const { text } = await adminCaller(app, tenant).get(`/api/v1/log/t/${tenant}/checkpoint`);
  return parseCheckpoint(parseNote(text).text);
}

describe('a service that was copied', () => {
  it('answers the same, recognises what was sent before, and goes on', async () => {
    using store = made.clone();
    const url = await server.createDatabase();
    const asked = new Map<string, ReadRequest[]>();
    let before: Map<string, Record<string, string>>;
    {
      await using app = await store.start();
      before = await allAnswers(app, store, asked);
    }
    const { how, tenants, logs } = await copyAll(store, url);
    assert.deepEqual([how, tenants], ['Fresh', TENANTS.length]);
    assert.deepEqual(
      logs.map(({ origin }) => origin.replace('audit.example.com/t/', '')),
      ['audit.example.com/installation', 'acme', 'acme/1', 'beta', 'gamma', 'idle'],
    );
    {
      await using app = await store.start(url);
      const behind = await allAnswers(app, store, asked);
      for (const tenant of TENANTS) {
        assert.ok(Object.keys(before.get(tenant)!).length > 10);
        for (const [question, answer] of Object.entries(before.get(tenant)!))
          requireSame(behind.get(tenant)![question]!, answer, `${tenant} ${question}`);
      }
      const old = await checkpointOf(app, 'acme');
      await requireRepeated(app, store);
      await requireGrown(app, old);
    }
    // If the old one is started all the same, what the new one has anchored stops it.
    rmSync(join(store.directory, MOVED_FILE));
    await using app = await store.start();
    const { code, text } = await adminCaller(app, 'acme').post('/api/v1/audit-events', EVENT);
    assert.equal(code, '503 SERVICE_UNAVAILABLE', text);
  });
});

/** Answers are long: where they differ is enough. */
function requireSame(found: string, wanted: string, question: string): void {
  if (found === wanted) return;
  let at = 0;
  while (found[at] === wanted[at]) at++;
  const around = (text: string) => text.slice(Math.max(0, at - 80), at + 80);
  assert.fail(`${question}: ${around(found)} in the place of ${around(wanted)}`);
}

async function requireRepeated(app: TestApp, { sent }: LivedInStore): Promise<void> {
  const caller = adminCaller(app, sent.tenant);
  const { code, text } = await caller.post('/api/v1/audit-events', sent.event, {
    'Idempotency-Key': sent.key,
  });
  assert.equal((JSON.parse(text) as { eventId: string }).eventId, sent.eventId, `${code} ${text}`);
}

/** The new checkpoint extends what was signed before the move. */
async function requireGrown(app: TestApp, old: Checkpoint): Promise<void> {
  const caller = adminCaller(app, 'acme');
  const { text: sent } = await caller.post('/api/v1/audit-events', EVENT);
  // The service itself waits for a checkpoint before it proves anything.
  const { eventId } = JSON.parse(sent) as { eventId: string };
  assert.equal((await caller.get(`/api/v1/audit-events/${eventId}/proof`)).code, '200');
  const now = await checkpointOf(app, 'acme');
  assert.equal(now.origin, old.origin);
  assert.ok(now.size > old.size);
  const { text } = await caller.get(`/api/v1/checkpoints/consistency?from=${old.size}&to=${now.size}`);
  const { hashes } = JSON.parse(text) as { hashes: string[] };
  verifyConsistency({
    from: old.size,
    fromRoot: old.root,
    to: now.size,
    toRoot: now.root,
    proof: hashes.map(fromBase64),
  });
}

describe('a copy that is cut short', () => {
  it('is served by nobody, and goes on until it is whole', async () => {
    using store = made.clone();
    const url = await server.createDatabase();
    let attempts = 0;
    let how: string | undefined;
    for (; how === undefined; attempts++) {
      const killed = (error: unknown) => assert.match(String(error), /killed/);
      how = (await copyUntil(store, url, attempts * STEP).catch(killed))?.how;
    }
    assert.deepEqual([how, attempts > 5], ['GoOn', true]);
    assert.match(await refusal(opened(store)), /has moved to postgres:.*Storage__Url.*remove .*moved\.json/);
    assert.equal((await copyAll(store, url)).how, 'Before');
    await using _ = await opened(store, url);
  });

  it('begins anew where the directory went on meanwhile', async () => {
    using store = made.clone();
    const url = await server.createDatabase();
    await cutShort(store, url);
    assert.match(await refusal(opened(store)), /is being copied to postgres:.*run `tallystick copy` again/);
    assert.match(await refusal(opened(store, url)), /holds a part of a copy, and is not served/);
    rmSync(join(store.directory, MOVED_FILE));
    // Which leaves a notice in the log.
    await createKey(store.config(), { ...NEW_KEY, tenantId: 'beta' });
    const { how, logs } = await copyAll(store, url);
    const beta = logs.find(({ tenant }) => tenant === 'beta')?.entries;
    assert.deepEqual([how, beta], ['Anew', 314]);
  });

  it('is refused where the database was changed meanwhile, and begins anew', async () => {
    using store = made.clone();
    const url = await server.createDatabase();
    await cutShort(store, url);
    await raw(url, "UPDATE contents SET text2 = text1 WHERE tenant_id = 'beta' AND leaf_index = 7");
    assert.match(
      await refusal(copyAll(store, url)),
      /is not what was copied: tenant beta, table contents, leaf_index 7: text2 is another.*begin anew/,
    );
    assert.match(await refusal(opened(store, url)), /holds a part of a copy/);
    assert.equal((await copyAll(store, url)).how, 'Anew');
  });
});

/** With everything copied, and nothing compared. */
async function cutShort(store: LivedInStore, url: string): Promise<void> {
  const killed = copyStore(store.config(url), ({ phase }) => {
    if (phase === 'Comparing') throw new Error('killed');
  });
  await assert.rejects(killed, /killed/);
}

describe('what is not copied', () => {
  it('a directory that was altered: the tenant and the index are told, and nothing is written', async () => {
    using store = made.clone();
    const url = await server.createDatabase();
    store.alter(
      `UPDATE contents SET text2 = x'7b7d' WHERE id = (SELECT id FROM entries JOIN tenants USING (tenant)
       WHERE tenant_id = 'beta' AND leaf_index = 5)`,
    );
    assert.match(
      await refusal(copyAll(store, url)),
      /is not verified, and nothing was copied: tenant beta, index 5: LEAF_MISMATCH/,
    );
    assert.deepEqual(await raw(url, "SELECT name FROM meta WHERE name <> 'schema_version'"), []);
    assert.ok(!existsSync(join(store.directory, MOVED_FILE)));
  });

  it('a directory without the anchor that tells whether it was put back', async () => {
    using store = made.clone();
    rmSync(join(store.directory, 'anchor'));
    const message = await refusal(copyAll(store, await server.createDatabase()));
    assert.match(message, /nothing was copied: the store: HISTORY_UNPROVEN \(there is no anchor/);
  });

  it('a directory that a service has open, and one that has moved elsewhere', async () => {
    using store = made.clone();
    const [one, two] = [await server.createDatabase(), await server.createDatabase()];
    {
      await using _ = await opened(store);
      assert.match(await refusal(copyAll(store, one)), /another instance is running on the data directory/);
    }
    await copyAll(store, one);
    assert.match(await refusal(copyAll(store, two)), /has moved to postgres:.*already/);
    assert.deepEqual(await raw(two, 'SELECT tenant_id FROM tenants'), []);
  });

  it('into a database that holds anything else', async () => {
    using store = made.clone();
    const url = await server.createDatabase();
    await copyAll(store, url);
    rmSync(join(store.directory, MOVED_FILE));
    assert.match(await refusal(copyAll(store, url)), /holds a whole copy already, and may have been served/);
    await raw(url, "UPDATE meta SET value = 'another' WHERE name = 'installation_id'");
    assert.match(await refusal(copyAll(store, url)), /a copy of another installation: audit\.example\.com/);
    await raw(url, "DELETE FROM meta WHERE name = 'copy'");
    assert.match(await refusal(copyAll(store, url)), /holds an installation already: audit\.example\.com/);
    await raw(url, "DELETE FROM meta WHERE name IN ('installation_id', 'log_origin')");
    assert.match(await refusal(copyAll(store, url)), /the database is not empty/);
    assert.ok(!existsSync(join(store.directory, MOVED_FILE)));
  });

  it('into a database that does not answer: what named it is said', async () => {
    using store = made.clone();
    const nowhere = 'postgres://app:hunter2@127.0.0.1:1/audit';
    const said = await refusal(copyAll(store, nowhere));
    assert.match(said, /^cannot connect to the database of --to or Storage__Url: .*ECONNREFUSED/);
    assert.doesNotMatch(said, /hunter2/);
  });
});

describe('a role that copies', () => {
  it('needs the rights of a service, and more only to throw a part away', async () => {
    using store = made.clone();
    const ownerUrl = await server.createDatabase();
    await raw(server.url(), 'CREATE ROLE copying LOGIN').catch(() => {});
    const url = ownerUrl.replace('postgres@', 'copying@');
    const killed = copyStore(store.config(url, ownerUrl), ({ phase }) => {
      if (phase === 'Comparing') throw new Error('killed');
    });
    await assert.rejects(killed, /killed/);
    rmSync(join(store.directory, MOVED_FILE));
    assert.match(await refusal(copyStore(store.config(url), () => {})), /Storage__OwnerUrl/);
    assert.equal((await copyStore(store.config(url, ownerUrl), () => {})).how, 'Anew');
    await using _ = await opened(store, url);
  });

  it('does so with separate logins, too', async () => {
    using store = made.clone();
    const ownerUrl = await server.createDatabase();
    const [url, indexUrl] = ['divided', 'divided_index'].map((user) =>
      ownerUrl.replace('postgres@', `${user}@`),
    );
    for (const user of ['divided', 'divided_index']) await raw(server.url(), `CREATE ROLE ${user} LOGIN`);
    const { logs } = await copyStore(store.config(url, ownerUrl, indexUrl), () => {});
    assert.ok(logs.length > 0);
    await assert.rejects(raw(url!, 'SET ROLE tallystick_projector'), /permission denied to set role/);
    await using _ = await openStorage(store.config(url, undefined, indexUrl), true);
  });
});
