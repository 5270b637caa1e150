// The port to the keys that seal the contents of a tenant. A key is destroyed only once no content is left under it: which content
// goes, notices of the log decide, and `remove` deletes it before.

import type { TenantId } from '@tallystick/contract';

export interface DestroyedKeys {
  /** Of tenants. */
  readonly tenantKeys: readonly string[];
  /** Of expiry: no content of any tenant that expired then can be opened. */
  readonly months: readonly number[];
}

export interface TenantKeyStore {
  /** The first of the tenants with keys, after one of them. */
  tenants(after: TenantId | undefined, limit: number): Promise<readonly TenantId[]>;
  /** Its keys take no new content any more, from the next entry of the log on; what comes gets new ones. */
  close(tenant: TenantId): Promise<void>;
  /** New content gets new data keys, and new secrets a new key; the key of the tenant stays. */
  rotate(tenant: TenantId): Promise<void>;
  /** Seals its keys anew with the newest key of the keyring; the number of them. */
  renew(tenant: TenantId): Promise<number>;
  /** Of the months before this one, keys are closed, too: content that comes expires later. */
  closeBefore(tenant: TenantId, month: number): Promise<void>;
  /** Destroys the closed keys under which no content is left; gives the tenant keys that are destroyed now, or were before. */
  destroyUnused(tenant: TenantId): Promise<readonly string[]>;
  /** The months of expiry that had keys, and have none any more, of all tenants. */
  emptiedMonths(before: number): Promise<readonly number[]>;
  /** The keys of the keyring that still seal some key. */
  ringKeys(): Promise<readonly string[]>;
}
