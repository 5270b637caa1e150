// A small store made by the real storage, with keys that sign and an anchor, and copies of it in memory to tamper
// with. It has two tenants, events of several kinds, notices, versions of a record, sealed streams, a purge, a change of the
// signing key and checkpoints; one of a size that fills a tile comes on demand. What is done is the same on every backend.

import { generateKeyPairSync, hash } from 'node:crypto';
import { chmodSync, copyFileSync, cpSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import type { PolicyConfiguration, TenantId } from '@tallystick/contract';
import { encodeEvent, KINDS, type NoticeFacts, type NoticeKind } from '@tallystick/evidence';
import { type DecidingSettings, deciderOf } from '../../../packages/server/src/policies/decide.ts';
import {
  contentOfPolicy,
  newPolicy,
  type PolicyRecord,
  replacedPolicy,
} from '../../../packages/server/src/policies/policy.ts';
import { eventFacts } from '../../../packages/server/src/policies/testing/policy-record.ts';
import { USUAL_SETTINGS } from '../../../packages/server/src/access/tenants.ts';
import { signCheckpointHead } from '../../../packages/server/src/keys/signing-keys.ts';
import { systemClock } from '../../../packages/server/src/runtime/clock.ts';
import { Deadline } from '../../../packages/server/src/runtime/deadline.ts';
import { commitmentOfRecord, createRecordMacs } from '../../../packages/server/src/records/record-macs.ts';
import type { StoredRecord } from '../../../packages/server/src/records/records.ts';
import { createUlids } from '../../../packages/server/src/runtime/ids.ts';
import { createSystemRandom } from '../../../packages/server/src/runtime/random.ts';
import { openOwnAnchor, readAnchorAt } from '../../../packages/server/src/storage/anchor/file-anchor.ts';
import { openSigningKeys } from '../../../packages/server/src/storage/keys/signing-key-files.ts';
import { openSqliteStorage } from '../../../packages/server/src/storage/sqlite/sqlite-storage.ts';
import type { Storage } from '../../../packages/server/src/storage/storage.ts';
import type { AppendResult, Draft } from '../../../packages/server/src/streams/log.ts';
import type { IndexSpan, RemovalStore } from '../../../packages/server/src/streams/removal/removal.ts';
import { remove } from '../../../packages/server/src/streams/removal/remove.ts';
import { draftNotice } from '../../../packages/server/src/streams/append/notice.ts';

export const LOG_ORIGIN = 'audit.example.com';
const START_MS = 1_767_323_046_000;
const HINTS = [undefined, 'Internal', 'Confidential', 'Secret'] as const;
const random = createSystemRandom();
export const nextId = createUlids(systemClock, random);

export interface MadeStore extends Disposable {
  readonly directory: string;
  /** The database as it was at some earlier moment, when it had been signed and anchored too. */
  readonly earlier: string;
}

/** The service's own way, one call at a time, with a directory of its own. */
export class Maker implements AsyncDisposable {
  readonly directory: string;
  readonly storage: Storage;
  #nowMs = START_MS;
  readonly #deciding = new Map<TenantId, DecidingSettings>();

  private constructor(directory: string, storage: Storage) {
    this.directory = directory;
    this.storage = storage;
  }

  static async over(directory: string, storage: Storage): Promise<Maker> {
    for (const tenant of ['acme', 'globex']) await storage.tenants.ensure(tenant, START_MS);
    return new Maker(directory, storage);
  }

  static async open(directory: string): Promise<Maker> {
    const storage = await openSqliteStorage({
      directory,
      logOrigin: LOG_ORIGIN,
      streams: { sealAfter: { ms: 86_400_000 }, sealAfterEvents: 1_000_000 },
      clock: systemClock,
      random,
      threads: false,
      exclusive: false,
      onFatal: (error) => {
        throw error;
      },
    });
    return Maker.over(directory, storage);
  }

  async append(
    tenant: TenantId,
    drafts: readonly Draft[],
    records: readonly StoredRecord[] = [],
  ): Promise<void> {
    this.#nowMs += 977;
    const now = { nowMs: this.#nowMs, steadyNowMs: this.#nowMs };
    const [result] = await this.storage.log.append([{ tenant, drafts, records, atomic: true }], now);
    if (result?.status !== 'Done') throw new Error(`append: ${result?.status}`);
  }

  events(tenant: TenantId, count: number, action = 'Read.Invoice'): Promise<void> {
    return this.append(
      tenant,
      Array.from({ length: count }, (_, i) => eventDraft(action, i, this.#deciding.get(tenant))),
    );
  }

  notice<K extends NoticeKind>(tenant: TenantId, kind: K, payload: NoticeFacts<K>['payload']): Promise<void> {
    const facts = {
      kind,
      action: 'Change.Something',
      resource: { resourceType: 'Thing', resourceId: 'thing-1' },
      payload,
      correlationId: random.uuid(),
    };
    return this.append(tenant, [draftNotice(facts, { eventId: nextId(), nowMs: this.#nowMs })]);
  }

  /** So many versions of a policy, each with its notice: it keeps what was deleted for ten years and more. */
  async versions(tenant: TenantId, count: number): Promise<void> {
    const macs = createRecordMacs(
      () => [new Uint8Array(32)],
      () => LOG_ORIGIN,
    );
    let policy: PolicyRecord | undefined;
    for (let made = 1; made <= count; made++) {
      const author = { by: 'ana', nowMs: this.#nowMs, nextId };
      const configuration: PolicyConfiguration = {
        name: 'Finance',
        policyType: 'Retention',
        priority: 100,
        rules: [
          { conditions: { action: 'Delete.Invoice' }, effect: { retentionPeriod: `P${9 + made}Y` } },
          { conditions: { classification: 'Secret' }, effect: { retentionPeriod: 'P1Y' } },
        ],
      };
      policy =
        policy === undefined
          ? newPolicy(tenant, configuration, author)
          : replacedPolicy(policy, configuration, author);
      const { policyId, version, noticeId: eventId } = policy;
      const content = contentOfPolicy(policy);
      const record = macs.make({ owner: tenant, kind: 'Policy', id: policyId, version, content }, random);
      const facts = {
        kind: KINDS.policyChange,
        action: 'Update.Policy',
        resource: { resourceType: 'Policy', resourceId: policyId },
        payload: {
          policyId,
          policyVersion: version,
          policyType: 'Retention',
          act: 'Updated',
          commitment: commitmentOfRecord(record),
        },
        correlationId: random.uuid(),
      } as const;
      await this.append(tenant, [draftNotice(facts, { eventId, nowMs: this.#nowMs })], [record]);
      this.#deciding.set(tenant, { ...USUAL_SETTINGS, policies: [policy] });
    }
  }

  async seal(tenant: TenantId): Promise<void> {
    const [open] = await this.storage.log.forTenant(tenant).streams({ before: undefined }, 1);
    this.#nowMs += 1013;
    const now = { nowMs: this.#nowMs, steadyNowMs: this.#nowMs };
    const { status } = await this.storage.log.seal({ tenant, streamId: open!.streamId }, now);
    if (status !== 'Sealed') throw new Error(`seal: ${status}`);
  }

  /** As a recovery does: the log goes on from what is anchored, openly. */
  async beginEpoch(tenant: TenantId, epochBefore = ''): Promise<void> {
    const heads = (await readAnchorAt(this.directory)).heads();
    const anchored = heads.get(`${LOG_ORIGIN}/t/${tenant}${epochBefore}`)!;
    const now = { nowMs: this.#nowMs, steadyNowMs: this.#nowMs };
    const { status } = await this.storage.log.beginEpoch({ tenant, anchored }, now);
    if (status !== 'Begun') throw new Error(`beginEpoch: ${status}`);
  }

  /** As the checkpointer does; `anchored: false` for one who has taken the anchor away. */
  async publish({ anchored = true } = {}): Promise<void> {
    const { tree } = this.storage;
    await using anchor = await openOwnAnchor(this.directory);
    const keys = (await openSigningKeys(this.directory, START_MS)).keys();
    // Finds what an earlier process has left.
    await tree.standings();
    for (let hasMore = true; hasMore; ) {
      const growth = await tree.readGrowth();
      if (growth.faults.length > 0) throw new Error(growth.faults[0]!.message);
      if (anchored) await anchor.append(growth.grown.map(({ heads }) => heads.at(-1)!));
      const logs = growth.grown.map(({ tenant, epoch, heads, tileHashes }) => ({
        tenant,
        epoch,
        tileHashes,
        checkpoints: heads.map((head) => ({
          size: head.size,
          note: signCheckpointHead(head, keys, START_MS + 1),
        })),
      }));
      await tree.publish(logs, this.#nowMs);
      hasMore = growth.hasMore;
    }
  }

  /** As a removal does: the notice, its checkpoint, and only then the deed. `removal` may stop it before its end. */
  async purge(
    tenant: TenantId,
    spans: readonly IndexSpan[],
    removal: Partial<RemovalStore> = {},
  ): Promise<void> {
    this.#nowMs += 983;
    const now = { nowMs: this.#nowMs, steadyNowMs: this.#nowMs };
    const { log, tree } = this.storage;
    await remove(
      { tenant, spans, cause: 'KeyDestroyed', correlationId: random.uuid(), deadline: new Deadline() },
      {
        removal: { ...this.storage.removal, ...removal },
        trees: tree,
        sequencer: { append: async (request) => (await log.append([request], now))[0] as AppendResult },
        checkpointer: { refusalOf: () => undefined, covers: () => this.publish() },
        clock: { now: () => this.#nowMs },
        nextId,
        forget: async () => {},
      },
    );
  }

  [Symbol.asyncDispose](): Promise<void> {
    return Promise.resolve(this.storage[Symbol.asyncDispose]());
  }
}

const UNDECIDED: DecidingSettings = { ...USUAL_SETTINGS, policies: [] };

function eventDraft(action: string, i: number, deciding: DecidingSettings = UNDECIDED): Draft {
  const hint = HINTS[i % 4];
  const more: Record<string, unknown>[] = [
    {},
    { payload: { amount: 12.5 + i, ok: true } },
    { context: { ipAddress: '203.0.113.7' }, payload: [i, 'späť'] },
    { payload: { 'a/b': null, list: [{ q: i }] } },
  ];
  const facts = eventFacts({ action, classification: hint });
  const decision = deciderOf(deciding)(facts, START_MS);
  const [one, two] = encodeEvent({
    action,
    actor: { actorType: 'User', userId: `u-${i}` },
    classification: decision.classification,
    outcome: i % 3 === 0 ? 'Denied' : 'Success',
    ...more[i % more.length],
  });
  return {
    kind: 1,
    eventId: nextId(),
    texts: [one.bytes, two.bytes],
    ...decision,
    ...(i % 5 === 0 ? { sentFingerprint: new Uint8Array(32).fill(i) } : {}),
  };
}

/** Where a store is made. */
export interface MakersPlace {
  readonly directory: string;
  readonly open: () => Promise<Maker>;
  /** Nobody has it open: copies it as it is now. */
  readonly keep: () => Promise<void>;
  /** Nobody has it open: it becomes what was kept. */
  readonly putBack: () => Promise<void>;
}

/** About 200 events. */
export async function fillStore({ directory, open, keep }: MakersPlace): Promise<void> {
  {
    await using maker = await open();
    await maker.events('acme', 40);
    await maker.events('globex', 30);
    await maker.publish();
    await maker.notice('acme', KINDS.administration, {
      act: 'KeyCreated',
      requestId: 'r-1',
      subjectIds: [],
      count: 1,
    });
    await maker.seal('acme');
    await maker.events('acme', 30, 'Approve.Invoice');
    await maker.publish();
  }
  await keep();
  addSigningKey(directory);
  await using maker = await open();
  await maker.notice('globex', KINDS.legalHold, { holdId: nextId(), act: 'Placed', policyId: null });
  await maker.seal('globex');
  await maker.events('globex', 25);
  await maker.publish();
  await maker.purge('acme', [{ firstIndex: 10, endIndex: 16 }]);
  await maker.versions('acme', 3);
  await maker.seal('acme');
  await maker.events('acme', 61, 'Delete.Invoice');
  await maker.publish();
  // Not signed yet.
  await maker.events('globex', 5);
}

/** A second key, by hand: from now on both sign, for an hour. */
function addSigningKey(directory: string): void {
  const { privateKey, publicKey } = generateKeyPairSync('ed25519');
  const raw = publicKey.export({ format: 'der', type: 'spki' }).subarray(-32);
  const record = {
    fingerprint: hash('sha256', raw),
    createdAt: new Date(START_MS).toISOString(),
    previousSignsUntil: new Date(START_MS + 3_600_000).toISOString(),
  };
  const path = join(directory, 'signing-keys', '0002');
  writeFileSync(`${path}.pem`, privateKey.export({ format: 'pem', type: 'pkcs8' }), { mode: 0o600 });
  writeFileSync(`${path}.json`, `${JSON.stringify(record)}\n`, { mode: 0o600 });
}

/** One that fills a tile, and went on under a new origin after it was restored from a copy. */
export async function fillTiledStore({ open, keep, putBack }: MakersPlace): Promise<void> {
  {
    await using maker = await open();
    await maker.events('acme', 258);
    await maker.seal('acme');
    await maker.events('acme', 2);
    await maker.events('globex', 1);
    await maker.seal('globex');
    await maker.publish();
  }
  await keep();
  {
    await using maker = await open();
    await maker.events('acme', 4);
    await maker.publish();
  }
  await putBack();
  await using maker = await open();
  await maker.beginEpoch('acme');
  await maker.events('acme', 2);
  await maker.seal('acme');
  await maker.publish();
}

export function makeStore(): Promise<MadeStore> {
  return made(fillStore);
}

export function makeTiledStore(): Promise<MadeStore> {
  return made(fillTiledStore);
}

async function made(fill: (place: MakersPlace) => Promise<void>): Promise<MadeStore> {
  const directory = mkdtempSync(join(tmpdir(), 'tallystick-tamper-'));
  const [journal, earlier] = [join(directory, 'journal.db'), join(directory, 'earlier.db')];
  await fill({
    directory,
    open: () => Maker.open(directory),
    keep: async () => copyFileSync(journal, earlier),
    putBack: async () => copyFileSync(earlier, journal),
  });
  return { directory, earlier, [Symbol.dispose]: () => rmSync(directory, { recursive: true, force: true }) };
}

/** A copy in memory, which the file's own guards do not protect. */
export function copyInMemory(file: string): DatabaseSync {
  const image = readFileSync(file);
  // A database in memory has no write-ahead log.
  image[18] = 1;
  image[19] = 1;
  const db = new DatabaseSync(':memory:', { enableForeignKeyConstraints: false });
  db.deserialize(image);
  return db;
}

export function copyDirectory(from: string): string {
  const to = mkdtempSync(join(tmpdir(), 'tallystick-tamper-'));
  cpSync(from, to, { recursive: true });
  chmodSync(join(to, 'signing-keys'), 0o700);
  return to;
}
