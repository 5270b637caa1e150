// A data directory with logs of any size, appended and signed in this process by the service's own parts, for tests that
// need more of a log than requests would make in their time.

import { mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import type { TenantId } from '@tallystick/contract';
import { encodeEvent } from '@tallystick/evidence';
import { loadConfig } from '../config/config.ts';
import type { Config } from '../config/settings.ts';
import { signCheckpointHead, type SigningKeyStore, verifierKeys } from '../keys/signing-keys.ts';
import { systemClock } from '../runtime/clock.ts';
import { createUlids } from '../runtime/ids.ts';
import { createSystemRandom } from '../runtime/random.ts';
import { openSigningKeys } from '../storage/keys/signing-key-files.ts';
import { JOURNAL_FILE } from '../storage/sqlite/connection/database.ts';
import { openSqliteStorage } from '../storage/sqlite/sqlite-storage.ts';
import type { Storage } from '../storage/storage.ts';
import type { Draft, Placed } from '../streams/log.ts';

export const SIGNED_ORIGIN = 'audit.example.com';

export interface SignedLogs extends AsyncDisposable {
  readonly directory: string;
  readonly config: Config;
  readonly storage: Storage;
  /** Appends so many events of a kind. */
  fill(tenant: TenantId, count: number): Promise<void>;
  append(tenant: TenantId, drafts: readonly Draft[]): Promise<Placed[]>;
  /** Signs everything that is there. */
  publish(): Promise<void>;
  /** Removes contents, as a purge does. */
  removeContents(tenant: TenantId, from: number, to: number): void;
  verifierKey(tenant: TenantId): string;
}

const LOT = 1000;
export const nextId = createUlids(systemClock, createSystemRandom());

export async function openSignedLogs(...tenants: TenantId[]): Promise<SignedLogs> {
  const folder = mkdtempSync(join(tmpdir(), 'tallystick-signed-'));
  const directory = join(folder, 'data');
  mkdirSync(directory, { mode: 0o700 });
  const variables = { Storage__DataDirectory: directory, Log__Origin: SIGNED_ORIGIN };
  const { config } = loadConfig({ variables, workingDirectory: folder });
  const storage = await openSqliteStorage({
    directory,
    logOrigin: SIGNED_ORIGIN,
    streams: config.streams,
    clock: systemClock,
    random: createSystemRandom(),
    threads: false,
    exclusive: true,
    onFatal: (error) => {
      throw error;
    },
  });
  const keys = await openSigningKeys(directory, systemClock.now());
  for (const tenant of tenants) await storage.tenants.ensure(tenant, systemClock.now());
  const append = async (tenant: TenantId, drafts: readonly Draft[]) => appendTo(storage, tenant, drafts);
  return {
    directory,
    config,
    storage,
    append,
    async fill(tenant, count) {
      for (let left = count; left > 0; left -= LOT) {
        await append(tenant, Array.from({ length: Math.min(left, LOT) }, anyDraft));
      }
    },
    publish: () => publish(storage, keys),
    removeContents(tenant, from, to) {
      using db = new DatabaseSync(join(directory, JOURNAL_FILE));
      db.prepare(
        `DELETE FROM contents WHERE id IN (SELECT id FROM entries JOIN tenants USING (tenant)
         WHERE tenant_id = ? AND leaf_index >= ? AND leaf_index < ?)`,
      ).run(tenant, from, to);
    },
    verifierKey: (tenant) => verifierKeys(keys.keys(), `${SIGNED_ORIGIN}/t/${tenant}`)[0]!,
    async [Symbol.asyncDispose]() {
      await storage[Symbol.asyncDispose]();
      rmSync(folder, { recursive: true });
    },
  };
}

function anyDraft(): Draft {
  const [one, two] = encodeEvent({
    timestamp: '2026-01-02T03:04:05.678Z',
    actor: { actorType: 'User', userId: 'u-42', userName: 'ana@example.com' },
    action: 'Delete.Invoice',
    resource: { resourceType: 'Invoice', resourceId: 'INV-42' },
    classification: 'Internal',
    outcome: 'Success',
    context: { ipAddress: '203.0.113.7' },
    payload: { amount: 1250.5, note: 'duplicate of INV-41' },
    submittedBy: 'key:01KE0000000000000000000001',
  });
  return {
    kind: 1,
    eventId: nextId(),
    texts: [one.bytes, two.bytes],
    classification: 'Internal',
    retention: undefined,
  };
}

async function appendTo(storage: Storage, tenant: TenantId, drafts: readonly Draft[]): Promise<Placed[]> {
  const nowMs = systemClock.now();
  const [result] = await storage.log.append([{ tenant, drafts, atomic: true }], {
    nowMs,
    steadyNowMs: nowMs,
  });
  if (result?.status !== 'Done') throw new Error(`the append was ${result?.status}`);
  return result.outcomes.filter((outcome): outcome is Placed => outcome.status === 'Appended');
}

async function publish(storage: Storage, keys: SigningKeyStore): Promise<void> {
  for (let hasMore = true; hasMore; ) {
    const growth = await storage.tree.readGrowth();
    ({ hasMore } = growth);
    const logs = growth.grown.map(({ tenant, epoch, heads, tileHashes }) => ({
      tenant,
      epoch,
      checkpoints: heads.map((head) => ({
        size: head.size,
        note: signCheckpointHead(head, keys.keys(), systemClock.now()),
      })),
      tileHashes,
    }));
    await storage.tree.publish(logs, systemClock.now());
  }
}
