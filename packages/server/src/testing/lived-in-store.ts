// A data directory in which everything has happened that a copy must carry over: several tenants, sealed streams, Secret
// events, used keys, API keys, a purge, a log that went on after a restore, and cosigned checkpoints. For tests.

import assert from 'node:assert/strict';
import { chmodSync, cpSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import type { TenantId } from '@tallystick/contract';
import { cosigner, KINDS, parseNote, signatureLine, toBase64 } from '@tallystick/evidence';
import { loadConfig } from '../config/config.ts';
import type { Config } from '../config/settings.ts';
import { openStorage } from '../operate/open-data.ts';
import { openRecovery } from '../operate/recover.ts';
import { systemClock } from '../runtime/clock.ts';
import { SIGNING_KEYS_FOLDER } from '../storage/keys/signing-key-files.ts';
import { JOURNAL_FILE } from '../storage/sqlite/connection/database.ts';
import type { Storage } from '../storage/storage.ts';
import type { Draft } from '../streams/log.ts';
import { draftNotice } from '../streams/append/notice.ts';
import { type AdminCaller, adminCaller, WITH_PLATFORM_KEY } from './admin-caller.ts';
import { EVENT } from './bound-operations.ts';
import { nextId } from './signed-log.ts';
import { startTestApp, type TestApp } from './test-app.ts';

/** A request that was sent before, and is recognised when it is sent again. */
export interface SentOnce {
  readonly tenant: TenantId;
  readonly key: string;
  readonly event: unknown;
  readonly eventId: string;
}

/** The known facts of the data, the same for all copies. */
interface Lived {
  /** Keys of a reader of each tenant, which may not see what is Secret: to see that would write to the log. */
  readonly readers: ReadonlyMap<TenantId, string>;
  readonly sent: SentOnce;
}

export interface LivedInStore extends Lived, Disposable {
  readonly directory: string;
  /** Starts a service on it, or, with a URL, on that database with its keys and its anchor. */
  start(url?: string): Promise<TestApp>;
  config(url?: string, ownerUrl?: string, indexUrl?: string): Config;
  /** Does something to the database of the directory, past all that guards it. */
  alter(sql: string): void;
  /** Another directory with the same in it, while no service runs on this one. */
  clone(): LivedInStore;
}

export const TENANTS: readonly TenantId[] = ['acme', 'beta', 'gamma', 'idle'];
const API = '/api/v1';
const ORIGIN = 'audit.example.com';

export async function livedInStore(): Promise<LivedInStore> {
  const folder = newFolder();
  const readers = new Map<TenantId, string>();
  const { start, config, directory } = placeIn(folder);
  const sent = await firstDays(start, readers);
  await goOnAfterRestore(directory, start, config());
  await purge(config(), start, directory);
  await cosign(config());
  return storeIn(folder, { readers, sent });
}

function storeIn(folder: string, lived: Lived): LivedInStore {
  const place = placeIn(folder);
  return {
    ...place,
    ...lived,
    alter(sql) {
      using db = new DatabaseSync(join(place.directory, JOURNAL_FILE));
      db.exec(sql);
    },
    clone() {
      const other = newFolder();
      cpSync(folder, other, { recursive: true });
      // A copy is as open as the process makes folders.
      chmodSync(join(other, 'data', SIGNING_KEYS_FOLDER), 0o700);
      return storeIn(other, lived);
    },
    [Symbol.dispose]: () => rmSync(folder, { recursive: true, force: true }),
  };
}

function placeIn(folder: string): Pick<LivedInStore, 'directory' | 'start' | 'config'> {
  const directory = join(folder, 'data');
  const variables = (url?: string, ownerUrl?: string, indexUrl?: string) => ({
    Storage__DataDirectory: directory,
    Log__Origin: ORIGIN,
    Log__CheckpointInterval: 'PT0.02S',
    ...WITH_PLATFORM_KEY,
    ...(url === undefined ? {} : { Storage__Url: url }),
    ...(ownerUrl === undefined ? {} : { Storage__OwnerUrl: ownerUrl }),
    ...(indexUrl === undefined ? {} : { Storage__IndexUrl: indexUrl }),
  });
  return {
    directory,
    start: (url) => startTestApp(variables(url)),
    config: (...urls) => loadConfig({ variables: variables(...urls), workingDirectory: folder }).config,
  };
}

function newFolder(): string {
  return mkdtempSync(join(tmpdir(), 'tallystick-lived-in-'));
}

type Start = () => Promise<TestApp>;

async function firstDays(start: Start, readers: Map<TenantId, string>): Promise<SentOnce> {
  await using app = await start();
  for (const tenant of TENANTS) {
    const made = await adminCaller(app, tenant).post(`${API}/admin/api-keys`, {
      name: 'reader',
      roles: ['Admin'],
      clearance: 'Internal',
    });
    assert.equal(made.code, '201', made.text);
    readers.set(tenant, (JSON.parse(made.text) as { key: string }).key);
  }
  for (const tenant of ['acme', 'beta']) {
    const caller = adminCaller(app, tenant);
    await sendBatch(caller, 300);
    await seal(caller);
    await sendBatch(caller, 10);
  }
  await sendBatch(adminCaller(app, 'gamma'), 40);
  const acme = adminCaller(app, 'acme');
  const event = { ...EVENT, payload: { note: 'sent with a key' } };
  const headers = { 'Idempotency-Key': 'key-of-this-request' };
  const { code, text } = await acme.post(`${API}/audit-events`, event, headers);
  assert.equal(code, '201', text);
  const { eventId } = JSON.parse(text) as { eventId: string };
  for (const tenant of ['beta', 'gamma']) await covered(adminCaller(app, tenant));
  await covered(acme);
  return { tenant: 'acme', key: headers['Idempotency-Key'], event, eventId };
}

const CLASSIFICATIONS = ['Public', 'Internal', 'Confidential', 'Secret'];

async function sendBatch(caller: AdminCaller, count: number): Promise<void> {
  const events = Array.from({ length: count }, (_, i) => ({
    ...EVENT,
    actor: { actorType: 'User', userId: `u-${i % 7}` },
    action: i % 3 === 0 ? 'Read.Invoice' : 'Delete.Invoice',
    classification: CLASSIFICATIONS[i % 4],
    payload: { note: `zebra ${i}`, amount: i, letters: 'äöü 🦉' },
  }));
  const { code, text } = await caller.post(`${API}/audit-events/batch`, { events });
  assert.equal(code, '201', text);
}

/** Until a checkpoint covers all that is there. */
async function covered(caller: AdminCaller): Promise<void> {
  const { text } = await caller.post(`${API}/audit-events`, EVENT);
  const { eventId } = JSON.parse(text) as { eventId: string };
  const proof = await caller.get(`${API}/audit-events/${eventId}/proof`);
  assert.equal(proof.code, '200', proof.text);
}

async function seal(caller: AdminCaller): Promise<void> {
  const { text } = await caller.get(`${API}/event-streams?status=Open`);
  const { data } = JSON.parse(text) as { data: { streamId: string }[] };
  const sealed = await caller.post(`${API}/event-streams/${data[0]!.streamId}/seal`, {});
  assert.equal(sealed.code, '200', sealed.text);
}

/** Acme loses what was signed last, and goes on in a new log. */
async function goOnAfterRestore(directory: string, start: Start, config: Config): Promise<void> {
  const journal = join(directory, JOURNAL_FILE);
  cpSync(journal, `${journal}.kept`);
  {
    await using app = await start();
    await sendBatch(adminCaller(app, 'acme'), 3);
    await covered(adminCaller(app, 'acme'));
  }
  for (const rest of ['-wal', '-shm']) rmSync(`${journal}${rest}`, { force: true });
  cpSync(`${journal}.kept`, journal);
  rmSync(`${journal}.kept`);
  {
    await using recovery = await openRecovery(config);
    assert.deepEqual(
      recovery.disagreements.map(({ tenant, kind }) => [tenant, kind]),
      [['acme', 'Behind']],
    );
    await recovery.begin(recovery.disagreements[0]!);
  }
  await using app = await start();
  await sendBatch(adminCaller(app, 'acme'), 20);
  await covered(adminCaller(app, 'acme'));
}

/** Gamma loses the content of some events, under a notice that is signed. */
async function purge(config: Config, start: Start, directory: string): Promise<void> {
  const span = { firstIndex: 10, endIndex: 20 };
  {
    await using storage = await openStorage(config, true);
    const ranges: [number, number][] = [[span.firstIndex, span.endIndex]];
    const payload = {
      policyId: null,
      policyVersion: null,
      cause: 'KeyDestroyed' as const,
      ranges,
      count: await storage.removal.countContents('gamma', [span]),
      subtrees: (await (await storage.tree.forTenant('gamma').tree())!.subtrees(ranges)).map(toBase64),
    };
    const resource = { resourceType: 'Log', resourceId: 'gamma' };
    const correlationId = '7d3f0c52-6a3e-4b51-9a0e-2f6b1f3c9d11';
    const nowMs = systemClock.now();
    const notice = draftNotice(
      { kind: KINDS.purge, action: 'Purge.Events', resource, payload, correlationId },
      { eventId: nextId(), nowMs },
    );
    await append(storage, notice, nowMs);
  }
  {
    await using app = await start();
    await covered(adminCaller(app, 'gamma'));
  }
  await using storage = await openStorage(config, true);
  const [deletion] = await storage.removal.deletions('gamma', span, 1);
  await storage.removal.deleteContents('gamma', deletion!.noticeIndex, 0);
  // What is purged goes from the index, too: it is made anew.
  for (const rest of ['', '-wal', '-shm']) rmSync(join(directory, `views.db${rest}`), { force: true });
}

async function append(storage: Storage, draft: Draft, nowMs: number): Promise<void> {
  const now = { nowMs, steadyNowMs: nowMs };
  const [result] = await storage.log.append([{ tenant: 'gamma', drafts: [draft], atomic: true }], now);
  assert.equal(result?.status, 'Done');
}

/** A witness has seen the newest checkpoint of beta. */
async function cosign(config: Config): Promise<void> {
  await using storage = await openStorage(config, true);
  const head = await storage.tree.forTenant('beta').head();
  const { size, note } = head!.latest!;
  const witness = await cosigner('witness.example.com/one', new Uint8Array(32).fill(7));
  const { text } = parseNote(note);
  const signature = await witness.cosign(text, Math.floor(systemClock.now() / 1000));
  const cosigned = { tenant: 'beta', epoch: 0, size, note: note + signatureLine(signature) };
  assert.deepEqual(await storage.tree.cosign([cosigned]), [true]);
}
