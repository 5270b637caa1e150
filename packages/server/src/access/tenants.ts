// Tenants as the server knows them, and the port through which a backend keeps them.

import type { Classification, Duration, TenantId } from '@tallystick/contract';

export interface TenantRecord {
  readonly tenantId: TenantId;
  readonly tier: 'Standard' | 'Premium';
  readonly region: string | undefined;
  readonly status: 'Active' | 'Suspended' | 'Closed';
  readonly defaultClassification: Classification;
  readonly defaultRetention: Duration;
  /** The key of the HMACs by which repeated requests are recognised; never shown. */
  readonly fingerprintKey: Uint8Array;
}

export interface TenantStore {
  find(tenantId: TenantId): Promise<TenantRecord | undefined>;
  /** The tenant, made with the usual settings if there is none. Many at once may share a commit. */
  ensure(tenantId: TenantId, nowMs: number): Promise<TenantRecord>;
}
