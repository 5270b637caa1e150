// Makes the keys for new content of a tenant, in one commit: its tenant key, a content key for each month of expiry, and a block
// of nonces for each that this process has none of. Of several processes that do so at once, the first one's keys count.

import { createSecretKey } from 'node:crypto';
import type { TenantId } from '@tallystick/contract';
import { EvidenceError } from '@tallystick/evidence';
import type { Random } from '../../runtime/random.ts';
import { TenantFault } from '../pool/tenant-fault.ts';
import { type Awaitable, awaited, type Resumable } from '../resumable.ts';
import { KEY_BYTES, type KeyPurpose, type Keyring, ringKeyIn, UnusableKey } from './keyring.ts';
import type { PoolSealer } from './pool-sealer.ts';

/** `Open` keys take new content, `Closed` ones are for reading. */
export type KeyState = 'Open' | 'Closed' | 'Destroyed';

/** A row of tenant_keys. */
export interface StoredKey {
  readonly keyId: string;
  readonly purpose: KeyPurpose;
  /** Of content: the month of expiry; else 0. */
  readonly month: number;
  readonly state: KeyState;
  /** The tenant key over a content key; its own id for the others. */
  readonly overId: string;
  /** keyring.ts; empty once it is destroyed. */
  readonly sealed: Uint8Array;
  /** The id in it. */
  readonly ringKey: string;
  readonly createdAtMs: number;
}

/** The keys of one tenant, in one transaction. */
export interface TenantKeyTable {
  /** The open tenant key, and the open content keys of these months. */
  open(months: readonly number[]): Awaitable<readonly StoredKey[]>;
  /** False, and nothing changes, if there is an open one of its purpose and month. */
  add(key: StoredKey): Awaitable<boolean>;
  /** The next block of nonces, which nobody else gets. */
  takeBlock(keyId: string): Awaitable<number>;
}

export interface NewKeyParts {
  readonly ring: Keyring;
  readonly random: Random;
  readonly nextId: () => string;
  readonly nowMs: number;
}

export interface ProvidingParts extends NewKeyParts {
  readonly sealer: PoolSealer;
}

/** Somebody else makes the same keys at most once each. */
const ATTEMPTS_MAX = 4;

/** Returns what is done once it is committed. */
export function* provideKeys(
  tenant: TenantId,
  months: readonly number[],
  table: TenantKeyTable,
  parts: ProvidingParts,
): Resumable<() => void> {
  const { ring, sealer } = parts;
  for (let attempt = 1; attempt <= ATTEMPTS_MAX; attempt++) {
    const stored = yield* awaited(table.open(months));
    const over = stored.find(({ purpose }) => purpose === 'Tenant');
    if (over === undefined) {
      yield* awaited(table.add(newKey(tenant, { purpose: 'Tenant', month: 0 }, parts)));
      continue;
    }
    const tenantKey = ring.open(over.sealed, { tenant, purpose: 'Tenant', keyId: over.keyId });
    const own = new Map(stored.filter(({ purpose }) => purpose === 'Content').map((key) => [key.month, key]));
    const missing = months.filter((month) => !own.has(month));
    for (const month of missing)
      yield* awaited(
        table.add(
          newKey(tenant, { purpose: 'Content', month }, parts, { keyId: over.keyId, key: tenantKey }),
        ),
      );
    if (missing.length > 0) continue;
    const opened: Parameters<PoolSealer['use']>[0][] = [];
    for (const { keyId, month, sealed, overId } of own.values()) {
      if (overId !== over.keyId)
        throw new UnusableKey(`the data key ${keyId} is not under the key of its tenant`);
      const key = createSecretKey(ring.open(sealed, { tenant, purpose: 'Content', keyId }, tenantKey));
      const block = sealer.holds(keyId) ? undefined : yield* awaited(table.takeBlock(keyId));
      opened.push({ tenant, keyId, month, key, block });
    }
    return () => {
      for (const key of opened) sealer.use(key);
    };
  }
  throw new Error(`the keys of ${tenant} could not be made`);
}

/** What makes the keys of one tenant useless for new content concerns no other tenant. */
export function keyFaultOf(tenant: TenantId, error: unknown): unknown {
  const isOfTenant = error instanceof UnusableKey || error instanceof EvidenceError;
  return isOfTenant ? new TenantFault(tenant, `its keys cannot be used: ${error.message}`, error) : error;
}

export function orKeyFault<T>(tenant: TenantId, work: () => T): T {
  try {
    return work();
  } catch (error) {
    throw keyFaultOf(tenant, error);
  }
}

export function newKey(
  tenant: TenantId,
  { purpose, month }: Pick<StoredKey, 'purpose' | 'month'>,
  { ring, random, nextId, nowMs }: NewKeyParts,
  over?: { readonly keyId: string; readonly key: Uint8Array },
): StoredKey {
  const keyId = nextId();
  const sealed = ring.seal(random.bytes(KEY_BYTES), { tenant, purpose, keyId, month }, random, over?.key);
  const overId = over?.keyId ?? keyId;
  return {
    keyId,
    purpose,
    month,
    state: 'Open',
    overId,
    sealed,
    ringKey: ringKeyIn(sealed),
    createdAtMs: nowMs,
  };
}
