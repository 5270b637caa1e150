// What the command line does to a data directory, whether the service runs or not: keys and tokens; more of it is in
// operate/. Only `migrate` and `recover` take the lock; SQLite puts the other commits in line with those of the
// service, which sees a changed key within 5 ms. Data of another version is refused: the service brings it up when it
// starts, or `migrate`.
// Where there is no data they throw ConfigError, and make none: only the service does.

import { resolve } from 'node:path';
import { AuditError, type KeyId, type TenantId } from '@tallystick/contract';
import { type ApiKeyRecord, keyStatus, type KeyStatus } from './access/api-keys.ts';
import {
  createKeyChanges,
  type KeyChangeCause,
  type KeyChanges,
  type KeyWish,
  type MadeKey,
} from './access/key-changes.ts';
import type { TokenWish } from './access/local-issuer.ts';
import { ConfigError } from './config/config-error.ts';
import type { Config } from './config/settings.ts';
import { openStorage, requireData } from './operate/open-data.ts';
import { refusedLogs } from './operate/refused-logs.ts';
import { systemClock } from './runtime/clock.ts';
import { createUlids } from './runtime/ids.ts';
import { createSystemRandom } from './runtime/random.ts';
import { openDataDirectory } from './storage/data-directory.ts';
import { createAccessReader } from './storage/sqlite/access.ts';
import { openJournalForReading } from './storage/sqlite/database.ts';
import type { Storage } from './storage/storage.ts';
import { loadOrMakeTokenKey, loadTokenKey } from './storage/token-key.ts';
import { createSequencer } from './streams/sequencer.ts';

export interface NewKey extends Omit<KeyWish, 'expiresAtMs'> {
  /** Undefined: until it is revoked. */
  readonly lifetimeMs: number | undefined;
}

/** Throws StartError and AuditError. */
export function createKey(config: Config, { lifetimeMs, ...facts }: NewKey): Promise<MadeKey> {
  const expiresAtMs = lifetimeMs === undefined ? undefined : systemClock.now() + lifetimeMs;
  return withStorage(config, (_, changes, cause) => changes.create({ ...facts, expiresAtMs }, cause));
}

export interface ListedKey {
  readonly record: ApiKeyRecord;
  readonly status: KeyStatus;
  /** To the minute; undefined: never. */
  readonly lastUsedAtMs: number | undefined;
}

/** By key id, which is by age; never a secret. Writes nothing. Throws StartError. */
export async function listKeys(config: Config, tenantId?: TenantId | '*'): Promise<ListedKey[]> {
  requireData(config);
  const nowMs = systemClock.now();
  const { records, lastUses } = await keysOf(config, tenantId);
  return records.map((record) => ({
    record,
    status: keyStatus(record, nowMs),
    lastUsedAtMs: lastUses.get(record.keyId),
  }));
}

interface StoredKeys {
  readonly records: readonly ApiKeyRecord[];
  readonly lastUses: ReadonlyMap<KeyId, number>;
}

async function keysOf(config: Config, tenantId?: TenantId | '*'): Promise<StoredKeys> {
  if (config.storage.url !== undefined) {
    await using storage = await openStorage(config, false);
    const records = await storage.apiKeys.list(tenantId);
    return { records, lastUses: await storage.keyUses.lastUses(records) };
  }
  // A directory that may only be read is enough.
  using db = openJournalForReading(config.storage.dataDirectory);
  const reader = createAccessReader(db, systemClock);
  const records = reader.keys(tenantId);
  return { records, lastUses: reader.lastUses(records) };
}

export function rotateKey(config: Config, keyId: KeyId, graceMs: number): Promise<MadeKey> {
  return withStorage(config, async (storage, changes, cause) =>
    changes.rotate(await keyNamed(storage, keyId), graceMs, cause),
  );
}

export function revokeKey(config: Config, keyId: KeyId): Promise<void> {
  return withStorage(config, async (storage, changes, cause) =>
    changes.revoke(await keyNamed(storage, keyId), cause),
  );
}

/** A token by the service's own key, which is made if there is none; throws ConfigError where it would not count. */
export async function makeToken(config: Config, wish: TokenWish): Promise<MadeToken> {
  const { dataDirectory } = config.storage;
  if (config.authentication.issuers.length > 0) {
    throw new ConfigError([
      'Authentication__Issuers is set: tokens come from there, and one made here would not count',
    ]);
  }
  requireData(config);
  await openDataDirectory(dataDirectory);
  const isFirst = (await loadTokenKey(dataDirectory)) === undefined;
  const key = await loadOrMakeTokenKey(dataDirectory, createSystemRandom().uuid());
  // Loaded here: of all these commands only this one signs tokens.
  const { signToken } = await import('./access/local-issuer.ts');
  const token = await signToken(key, wish, systemClock.now());
  return { token, newKeyIn: isFirst ? resolve(dataDirectory) : undefined };
}

export interface MadeToken {
  readonly token: string;
  /** The data directory, if the key that signs tokens was made there just now. */
  readonly newKeyIn: string | undefined;
}

async function withStorage<T>(
  config: Config,
  work: (storage: Storage, changes: KeyChanges, cause: KeyChangeCause) => Promise<T>,
): Promise<T> {
  requireData(config);
  const [clock, random] = [systemClock, createSystemRandom()];
  const nextId = createUlids(clock, random);
  await using storage = await openStorage(config, false);
  let refused: ReadonlyMap<TenantId, string> | undefined;
  await using sequencer = createSequencer({
    writer: storage.log,
    clock,
    steadyNowMs: () => clock.now(),
    refusalOf: (tenant) => refused?.get(tenant),
  });
  const changes = createKeyChanges({
    keys: storage.apiKeys,
    provide: (tenantId) => storage.tenants.ensure(tenantId, clock.now()),
    // Only whoever writes to a log compares: platform keys can be changed also where the anchor is lost.
    append: async (request) => {
      refused ??= await refusedLogs(config, storage);
      return sequencer.append(request);
    },
    clock,
    random,
    nextId,
  });
  return await work(storage, changes, { by: 'system', requestId: nextId(), correlationId: random.uuid() });
}

async function keyNamed({ apiKeys }: Storage, keyId: KeyId): Promise<ApiKeyRecord> {
  const record = await apiKeys.find(keyId);
  if (record === undefined) throw new AuditError('KEY_NOT_FOUND', `There is no API key ${keyId}.`);
  return record;
}
