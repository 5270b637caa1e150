// The work of the command line on a data directory, whether the service runs or not: keys and tokens; more of it is in
// operate/. Only `migrate` and `recover` take the lock; SQLite puts the other commits in line with those of the
// service, which sees a changed key within 5 ms. Data of another version is refused: the service brings it up when it
// starts, or `migrate`.
// Where there is no data they throw ConfigError, and make none: only the service does.

import { resolve } from 'node:path';
import { type ApiKey, AuditError, type KeyId, type TenantId } from '@tallystick/contract';
import { type ApiKeyRecord, showKey } from './access/api-keys.ts';
import { type Access, createAccess } from './access/access.ts';
import type { KeyChangeCause, KeySettings, MadeKey } from './access/key-changes.ts';
import { createApiKeys } from './access/key-records.ts';
import type { TokenRequest } from './access/local-issuer.ts';
import { ConfigError } from './config/config-error.ts';
import type { Config } from './config/settings.ts';
import { openStorage, requireData } from './operate/open-data.ts';
import { anchorPlace } from './config/anchor-place.ts';
import { readAnchorAt } from './storage/anchor/file-anchor.ts';
import { refusedLogs } from './operate/refused-logs.ts';
import { systemClock } from './runtime/clock.ts';
import { createSigning } from './keys/signing.ts';
import type { SigningKeyStore } from './keys/signing-keys.ts';
import { AS_THEY_ARE } from './records/kept-records.ts';
import { createUlids } from './runtime/ids.ts';
import { createSystemRandom } from './runtime/random.ts';
import { openDataDirectory } from './storage/files/data-directory.ts';
import {
  loadSigningKeys,
  openSigningKeys,
  requireSigner,
  requireSigningKeys,
} from './storage/keys/signing-key-files.ts';
import { openJournalForReading } from './storage/sqlite/connection/database.ts';
import { readKeyUses } from './storage/sqlite/records/key-uses.ts';
import { createRecordReader } from './storage/sqlite/records/records.ts';
import { loadOrMakeTokenKey, loadTokenKey } from './storage/keys/token-key.ts';
import type { Storage } from './storage/storage.ts';
import { createSequencer } from './streams/append/sequencer.ts';
import { isSigned } from './streams/anchor/unanchored.ts';

export interface NewKey extends Omit<KeySettings, 'expiresAtMs'> {
  /** Undefined: until it is revoked. */
  readonly lifetimeMs: number | undefined;
}

/** Throws StartError and AuditError. */
export function createKey(config: Config, { lifetimeMs, ...facts }: NewKey): Promise<MadeKey> {
  const expiresAtMs = lifetimeMs === undefined ? undefined : systemClock.now() + lifetimeMs;
  return withAccess(
    config,
    async ({ keyChanges }, cause) => (await keyChanges.create({ ...facts, expiresAtMs }, cause))!,
  );
}

/** By key id, which is by age; never a secret. Writes nothing. Throws StartError. */
export async function listKeys(config: Config, tenantId?: TenantId | '*'): Promise<ApiKey[]> {
  requireData(config);
  const nowMs = systemClock.now();
  const { records, lastUses } = await keysOf(config, tenantId);
  return records.map((record) => showKey(record, nowMs, lastUses.get(record.keyId)));
}

interface StoredKeys {
  readonly records: readonly ApiKeyRecord[];
  readonly lastUses: ReadonlyMap<KeyId, number>;
}

async function keysOf(config: Config, tenantId?: TenantId | '*'): Promise<StoredKeys> {
  if (config.storage.url !== undefined) {
    await using storage = await openStorage(config, false);
    const records = await createApiKeys(storage.records, AS_THEY_ARE).list(tenantId);
    return { records, lastUses: await storage.keyUses.lastUses(records) };
  }
  // A directory that may only be read is enough.
  using db = openJournalForReading(config.storage.dataDirectory);
  const records = await createApiKeys(createRecordReader(db), AS_THEY_ARE).list(tenantId);
  return { records, lastUses: readKeyUses(db, records) };
}

export function rotateKey(config: Config, keyId: KeyId, graceMs: number): Promise<MadeKey> {
  return withAccess(config, async (access, cause) =>
    access.keyChanges.rotate(await keyNamed(access, keyId), { graceMs, isSameCaller: true }, cause),
  );
}

export function revokeKey(config: Config, keyId: KeyId): Promise<void> {
  return withAccess(config, async (access, cause) =>
    access.keyChanges.revoke(await keyNamed(access, keyId), cause),
  );
}

/** A token by the service's own key, which is made if there is none; throws ConfigError where it would not count. */
export async function makeToken(config: Config, request: TokenRequest): Promise<MadeToken> {
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
  const token = await signToken(key, request, systemClock.now());
  return { token, newKeyIn: isFirst ? resolve(dataDirectory) : undefined };
}

export interface MadeToken {
  readonly token: string;
  /** The data directory, if the key that signs tokens was made there just now. */
  readonly newKeyIn: string | undefined;
}

async function withAccess<T>(
  config: Config,
  work: (access: Access, cause: KeyChangeCause) => Promise<T>,
): Promise<T> {
  requireData(config);
  const [clock, random] = [systemClock, createSystemRandom()];
  const nextId = createUlids(clock, random);
  await using storage = await openStorage(config, false);
  const signing = createSigning(clock);
  signing.use(await ownSigningKeys(config, storage));
  let refused: ReadonlyMap<TenantId, string> | undefined;
  await using sequencer = createSequencer({
    writer: storage.log,
    clock,
    steadyNowMs: () => clock.now(),
    refusalOf: (tenant) => refused?.get(tenant),
  });
  const access = createAccess({
    ...storage,
    logOrigin: () => storage.logOrigin,
    signing,
    append: async (request) => {
      refused ??= await refusedLogs(config, storage);
      return sequencer.append(request);
    },
    clock,
    random,
    nextId,
  });
  return await work(access, { by: 'system', requestId: nextId(), correlationId: random.uuid() });
}

/** Made where nothing was ever signed: records bear a MAC from the first one on. Throws StartError. */
async function ownSigningKeys(config: Config, storage: Storage): Promise<SigningKeyStore> {
  const { dataDirectory } = config.storage;
  const isSignedBefore = async () =>
    (await readAnchorAt(anchorPlace(config))).heads().size > 0 ||
    (await storage.tree.standings()).some(isSigned);
  if ((await loadSigningKeys(dataDirectory)) === undefined && (await isSignedBefore()))
    await requireSigningKeys(dataDirectory);
  const keys = await openSigningKeys(dataDirectory, systemClock.now());
  await requireSigner(storage, keys.keys(), dataDirectory);
  return keys;
}

async function keyNamed({ keys }: Access, keyId: KeyId): Promise<ApiKeyRecord> {
  const record = await keys.find(keyId);
  if (record === undefined) throw new AuditError('KEY_NOT_FOUND', `There is no API key ${keyId}.`);
  return record;
}
