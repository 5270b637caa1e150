// API keys as records: of their tenant, or of the installation if they are for the platform.

import type { Classification, KeyId, Role, Scope } from '@tallystick/contract';
import { parseJson, toHex } from '@tallystick/evidence';
import type { KeptRecords } from '../records/kept-records.ts';
import type { RecordContent } from '../records/record-macs.ts';
import type { RecordReader, StoredRecord } from '../records/records.ts';
import type { ApiKeyRecord, ApiKeys } from './api-keys.ts';

export const KEY_KIND = 'ApiKey';

export function createApiKeys(
  reader: RecordReader,
  kept: Pick<KeptRecords, 'get' | 'genuine' | 'allGenuine'>,
): ApiKeys {
  const keysOf = async (records: readonly StoredRecord[]) => (await kept.allGenuine(records)).map(keyIn);
  return {
    findByHash: (hash) =>
      kept.get(keptName(hash), async () => (await keysOf(await reader.byLookup(KEY_KIND, hash)))[0]),
    find: async (keyId) => (await keysOf(await reader.byId(KEY_KIND, keyId)))[0],
    list: async (owner) =>
      keysOf(owner === undefined ? await reader.all(KEY_KIND) : await reader.forOwner(owner).list(KEY_KIND)),
    page: async (owner, request) => keysOf(await reader.forOwner(owner).page(KEY_KIND, request)),
    count: (owner) => reader.forOwner(owner).count(KEY_KIND),
  };
}

/** Every request with a key needs it, and this conversion takes half of the time of `toHex`. */
function keptName({ buffer, byteOffset, byteLength }: Uint8Array): string {
  return `key ${Buffer.from(buffer, byteOffset, byteLength).toString('hex')}`;
}

/** The content of the key's record. */
export function contentOfKey(key: ApiKeyRecord): RecordContent {
  const { hash, keyId: _, tenantId: __, version: ___, ...facts } = key;
  return {
    ...facts,
    state: key.revokedAtMs === undefined ? 'Active' : 'Revoked',
    lookup: toHex(hash),
  };
}

interface KeyContent {
  readonly name: string;
  readonly roles: readonly Role[];
  readonly scopes: readonly Scope[];
  readonly clearance?: Classification;
  readonly createdAtMs: number;
  readonly createdBy: string;
  readonly expiresAtMs?: number;
  readonly allowedNetworks?: readonly string[];
  readonly revokedAtMs?: number;
  readonly replaces?: KeyId;
  readonly firstKeyId?: KeyId;
  readonly replacedBy?: KeyId;
  readonly uniqueName?: string;
}

/** Of a genuine record. */
export function keyIn({ owner, id, version, body, lookup }: StoredRecord): ApiKeyRecord {
  // Written by `contentOfKey`.
  const content = parseJson(body) as KeyContent;
  return {
    keyId: id,
    tenantId: owner,
    version,
    hash: lookup!,
    name: content.name,
    roles: content.roles,
    scopes: content.scopes,
    clearance: content.clearance,
    createdAtMs: content.createdAtMs,
    createdBy: content.createdBy,
    expiresAtMs: content.expiresAtMs,
    allowedNetworks: content.allowedNetworks,
    revokedAtMs: content.revokedAtMs,
    replaces: content.replaces,
    firstKeyId: content.firstKeyId,
    replacedBy: content.replacedBy,
    uniqueName: content.uniqueName,
  };
}
