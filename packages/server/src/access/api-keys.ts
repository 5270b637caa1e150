// API keys: their form, and what is stored of them.
//
//   tsk_<keyId>_<secret>_<checksum>
//
// keyId is a ULID and no secret; secret is 32 characters of Crockford's base 32, 160 random bits; checksum is the
// CRC-32 of everything before its underscore, 7 characters. It protects nothing: it tells a mistyped or cut key from
// an unknown one, and lets a scanner for leaked secrets be sure. Only the SHA-256 of the whole key is kept; a random
// secret needs no slow hash. A key is found by that hash, so a key of any other form works too.

import { hash } from 'node:crypto';
import { crc32 } from 'node:zlib';
import {
  type ApiKey,
  AuditError,
  type Classification,
  type KeyId,
  type Role,
  type Scope,
  type TenantId,
} from '@tallystick/contract';
import type { RowsRequest } from '../paging.ts';
import { instant } from '../runtime/clock.ts';
import { CROCKFORD } from '../runtime/ids.ts';
import type { Random } from '../runtime/random.ts';

export interface ApiKeyRecord {
  readonly keyId: KeyId;
  /** `*`: a platform key, for every tenant. */
  readonly tenantId: TenantId | '*';
  readonly name: string;
  readonly roles: readonly Role[];
  readonly scopes: readonly Scope[];
  /** Undefined: the clearance of the roles. */
  readonly clearance: Classification | undefined;
  readonly createdAtMs: number;
  /** A caller's name, or `system`. */
  readonly createdBy: string;
  readonly expiresAtMs: number | undefined;
  /** Undefined: it may be used from anywhere. */
  readonly allowedNetworks?: readonly string[] | undefined;
  readonly revokedAtMs: number | undefined;
  /** The key that this one replaced. */
  readonly replaces: KeyId | undefined;
  /** The first key of the chain of rotations that this one continues; undefined: the key itself. */
  readonly firstKeyId: KeyId | undefined;
  /** The key that replaced this one. */
  readonly replacedBy: KeyId | undefined;
  /** No other key of its tenant has it; undefined: it needs none. */
  readonly uniqueName: string | undefined;
  readonly hash: Uint8Array;
  /** 1 for a new key; each change adds 1. */
  readonly version: number;
}

export interface ApiKeys {
  findByHash(hash: Uint8Array): Promise<ApiKeyRecord | undefined>;
  find(keyId: KeyId): Promise<ApiKeyRecord | undefined>;
  /** All keys of the tenant, or of everybody, by key id. */
  list(tenantId?: TenantId | '*'): Promise<readonly ApiKeyRecord[]>;
  page(tenantId: TenantId | '*', request: RowsRequest): Promise<readonly ApiKeyRecord[]>;
  /** How many the tenant has, counted up to one more than a list's total is exact for. */
  count(tenantId: TenantId | '*'): Promise<number>;
}

export type KeyStatus = 'Active' | 'Expired' | 'Revoked';

/** The prefix of every key that the service makes. */
export const KEY_PREFIX = 'tsk_';
const FORM = /^tsk_([0-7][0-9A-HJKMNP-TV-Z]{25})_[0-9A-HJKMNP-TV-Z]{32}_[0-9A-HJKMNP-TV-Z]{7}$/;
const SECRET_BYTES = 20;
const CHECKSUM_LENGTH = 7;

export function makeKey(keyId: KeyId, random: Random): string {
  const secret = [...bitsOf(random.bytes(SECRET_BYTES))].join('');
  const stem = `${KEY_PREFIX}${keyId}_${secret}`;
  return `${stem}_${checksumOf(stem)}`;
}

/** The id inside a key of our form whose checksum fits; undefined for everything else. */
export function keyIdIn(key: string): KeyId | undefined {
  const stem = key.slice(0, -CHECKSUM_LENGTH - 1);
  return key.endsWith(`_${checksumOf(stem)}`) ? FORM.exec(key)?.[1] : undefined;
}

export function hashOfKey(key: string): Uint8Array {
  return hash('sha256', key, 'buffer');
}

export function keyStatus({ revokedAtMs, expiresAtMs }: ApiKeyRecord, nowMs: number): KeyStatus {
  // Checked before the clock: setting the clock back must not reactivate a revoked key.
  if (revokedAtMs !== undefined) return 'Revoked';
  return expiresAtMs !== undefined && expiresAtMs <= nowMs ? 'Expired' : 'Active';
}

/** As the interface shows it, without a secret. */
export function showKey(record: ApiKeyRecord, nowMs: number, lastUsedAtMs?: number): ApiKey {
  const { keyId, tenantId, name, clearance, createdAtMs, createdBy, replaces } = record;
  const { expiresAtMs, allowedNetworks } = record;
  return {
    keyId,
    tenantId,
    name,
    roles: [...record.roles],
    scopes: [...record.scopes],
    ...(clearance !== undefined && { clearance }),
    status: keyStatus(record, nowMs),
    createdAt: instant(createdAtMs),
    createdBy,
    ...(expiresAtMs !== undefined && { expiresAt: instant(expiresAtMs) }),
    ...(allowedNetworks !== undefined && { allowedNetworks: [...allowedNetworks] }),
    ...(replaces !== undefined && { rotatedFrom: replaces }),
    ...(lastUsedAtMs !== undefined && { lastUsedAt: instant(lastUsedAtMs) }),
  };
}

/** The key's record if it works now; throws UNAUTHENTICATED or API_KEY_REVOKED. No message holds a key. */
export async function verifyKey(
  key: string,
  store: Pick<ApiKeys, 'findByHash'>,
  nowMs: number,
  keyHash = hashOfKey(key),
): Promise<ApiKeyRecord> {
  const record = await store.findByHash(keyHash);
  if (record === undefined) {
    const isMistyped = key.startsWith(KEY_PREFIX) && keyIdIn(key) === undefined;
    throw new AuditError(
      'UNAUTHENTICATED',
      isMistyped
        ? 'The API key is mistyped or cut off: its checksum does not fit.'
        : 'The API key is unknown.',
    );
  }
  const status = keyStatus(record, nowMs);
  if (status === 'Active') return record;
  const how = status === 'Revoked' ? 'was revoked' : 'has expired';
  throw new AuditError('API_KEY_REVOKED', `The API key ${record.keyId} ${how}.`);
}

function checksumOf(stem: string): string {
  let rest = crc32(stem);
  let text = '';
  for (let i = 0; i < CHECKSUM_LENGTH; i++) {
    text = CROCKFORD[rest & 31]! + text;
    rest >>>= 5;
  }
  return text;
}

/** Eight characters for every five bytes. */
function* bitsOf(bytes: Uint8Array): Iterable<string> {
  let held = 0;
  let bits = 0;
  for (const byte of bytes) {
    held = ((held << 8) | byte) & 0xfff;
    bits += 8;
    while (bits >= 5) {
      bits -= 5;
      yield CROCKFORD[(held >>> bits) & 31]!;
    }
  }
}
