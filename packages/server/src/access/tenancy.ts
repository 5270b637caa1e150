// Decides which tenants are served here, and makes new ones. `admit` is called as soon as the tenant of a call is known,
// `provide` right before a write, so that no refused request leaves a tenant behind.

import { AuditError, type TenantId } from '@tallystick/contract';
import type { Clock } from '../runtime/clock.ts';
import type { TenantRecord, Tenants } from './tenants.ts';

export interface Tenancy {
  /** The record of the tenant, if it is served here; throws TENANT_SUSPENDED or RESIDENCY_VIOLATION. */
  admit(tenantId: TenantId): Promise<TenantRecord | undefined>;
  /** The tenant of a write, made if necessary; throws TENANT_NOT_FOUND if that is not allowed. */
  provide(tenantId: TenantId): Promise<TenantRecord>;
}

export interface TenancyParts {
  readonly tenants: Pick<Tenants, 'find' | 'ensure'>;
  readonly clock: Clock;
  /** Whether the first write makes a tenant. */
  readonly autoProvision: boolean;
  /** The region of this installation; undefined: it serves tenants of all regions. */
  readonly region: string | undefined;
}

export function createTenancy({ tenants, clock, autoProvision, region }: TenancyParts): Tenancy {
  const served = (record: TenantRecord): TenantRecord => {
    checkServed(record, region);
    return record;
  };
  const admit = async (tenantId: TenantId) => {
    const record = await tenants.find(tenantId);
    return record && served(record);
  };
  return {
    admit,
    async provide(tenantId) {
      if (autoProvision) return served(await tenants.ensure(tenantId, clock.now()));
      const found = await admit(tenantId);
      if (found === undefined) throw new AuditError('TENANT_NOT_FOUND', `There is no tenant ${tenantId}.`);
      return found;
    },
  };
}

function checkServed(tenant: TenantRecord, region: string | undefined): void {
  const { tenantId, status } = tenant;
  if (status !== 'Active') {
    throw new AuditError('TENANT_SUSPENDED', `The tenant ${tenantId} is ${status.toLowerCase()}.`);
  }
  if (region !== undefined && tenant.region !== undefined && tenant.region !== region) {
    throw new AuditError('RESIDENCY_VIOLATION', `The tenant ${tenantId} may not be served in ${region}.`);
  }
}
