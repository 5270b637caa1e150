// What is done to the keys of one tenant, in one transaction, on any backend.

import type { TenantId } from '@tallystick/contract';
import type { Random } from '../../runtime/random.ts';
import { type Awaitable, awaited, type Resumable } from '../resumable.ts';
import { type Keyring, ringKeyIn } from './keyring.ts';
import type { StoredKey } from './provide-keys.ts';

/** The rows of one tenant, which nobody else changes meanwhile. */
export interface KeyRows {
  /** Tenant keys first. */
  all(): Awaitable<readonly StoredKey[]>;
  put(key: Pick<StoredKey, 'keyId' | 'state' | 'sealed' | 'ringKey'>): Awaitable<unknown>;
}

export interface RenewingParts {
  readonly ring: Keyring;
  readonly random: Random;
}

/** Seals all keys that are not destroyed with the newest key of the keyring; the number of them. */
export function* renewKeys(
  tenant: TenantId,
  rows: KeyRows,
  { ring, random }: RenewingParts,
): Resumable<number> {
  const tenantKeys = new Map<string, Uint8Array>();
  let renewed = 0;
  for (const key of yield* awaited(rows.all())) {
    const { keyId, purpose, month, overId, state } = key;
    if (state === 'Destroyed') continue;
    const over = purpose === 'Content' ? tenantKeys.get(overId) : undefined;
    const opened = ring.open(key.sealed, { tenant, purpose, keyId }, over);
    if (purpose === 'Tenant') tenantKeys.set(keyId, opened);
    const sealed = ring.seal(opened, { tenant, purpose, keyId, month }, random, over);
    yield* awaited(rows.put({ keyId, state, sealed, ringKey: ringKeyIn(sealed) }));
    renewed++;
  }
  return renewed;
}

/**
 * Destroys closed keys of content that are unused, and tenant keys that are over none. Returns the ids of all tenant keys that are
 * destroyed, also before: a crash may have kept the keyring from losing them.
 */
export function* destroyKeys(rows: KeyRows, unused: ReadonlySet<string>): Resumable<string[]> {
  const all = yield* awaited(rows.all());
  const isLeft = new Set<string>();
  const gone: StoredKey[] = [];
  for (const key of all.filter(({ purpose, state }) => purpose === 'Content' && state !== 'Destroyed')) {
    if (key.state === 'Closed' && unused.has(key.keyId)) gone.push(key);
    else isLeft.add(key.overId);
  }
  const tenantKeys = all.filter(
    ({ purpose, state, keyId }) => purpose === 'Tenant' && state === 'Closed' && !isLeft.has(keyId),
  );
  for (const { keyId, ringKey } of [...gone, ...tenantKeys])
    yield* awaited(rows.put({ keyId, state: 'Destroyed', sealed: new Uint8Array(0), ringKey }));
  const before = all.filter(({ purpose, state }) => purpose === 'Tenant' && state === 'Destroyed');
  return [...before, ...tenantKeys].map(({ keyId }) => keyId);
}
