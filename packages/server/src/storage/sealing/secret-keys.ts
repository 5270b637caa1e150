// The keys under which secrets are sealed that callers have stored, in the table of the keys of tenants. Each is under the keyring
// itself: an erasure of the content of a tenant destroys the tenant key and all under it, and these stay.

import type { TenantId } from '@tallystick/contract';
import type { SecretKey } from '../../keys/secret-box.ts';
import { type Awaitable, awaited, type Resumable } from '../resumable.ts';
import { type Keyring, UnusableKey } from './keyring.ts';
import { newKey, type NewKeyParts, type StoredKey } from './provide-keys.ts';

/** Those of one tenant, in one transaction. */
export interface SecretKeyRows {
  open(): Awaitable<StoredKey | undefined>;
  /** False, and nothing changes, if there is an open one. */
  add(key: StoredKey): Awaitable<boolean>;
}

/** The open key, made where there is none: of two processes that make it at once, the first one's counts. */
export function* provideSecretKey(
  tenant: TenantId,
  rows: SecretKeyRows,
  parts: NewKeyParts,
): Resumable<SecretKey> {
  let stored = yield* awaited(rows.open());
  if (stored === undefined) {
    yield* awaited(rows.add(newKey(tenant, { purpose: 'Secret', month: 0 }, parts)));
    stored = yield* awaited(rows.open());
  }
  if (stored === undefined) throw new Error(`the key for secrets of ${tenant} could not be made`);
  return openedSecretKey(tenant, stored, parts.ring);
}

/** Undefined where the keyring does not open it, or not any more. */
export function usableSecretKey(
  tenant: TenantId,
  stored: StoredKey,
  ring: Keyring | undefined,
): SecretKey | undefined {
  try {
    return openedSecretKey(tenant, stored, ring);
  } catch (error) {
    if (error instanceof UnusableKey) return undefined;
    throw error;
  }
}

/** Throws UnusableKey. */
function openedSecretKey(tenant: TenantId, stored: StoredKey, ring: Keyring | undefined): SecretKey {
  const { keyId, sealed, purpose } = stored;
  if (ring === undefined) throw new UnusableKey(`there is no keyring to open the key ${keyId}`);
  if (purpose !== 'Secret') throw new UnusableKey(`the key ${keyId} is not one of secrets`);
  return { keyId, key: ring.open(sealed, { tenant, purpose, keyId }) };
}
