// Whether the tenant of a call is served: a suspended one is not, nor one that belongs in another region. Operations
// that reach beyond the tenant they name are let through, or nobody could ever lift a suspension.

import {
  namesWhatIsThere,
  type Operation,
  type OperationName,
  TENANT_ID_PATTERN,
  type TenantId,
} from '@tallystick/contract';
import type { Tenancy } from '../access/tenancy.ts';
import type { TenantRecord } from '../access/tenants.ts';

const TENANT_ID = new RegExp(TENANT_ID_PATTERN);

/**
 * What is known of the tenant; undefined when it has not written yet, and where there is no tenant. What stands in a path and
 * can be none is refused for that later, and looked up nowhere: others are looked up with it.
 */
export function admitTenant(
  operation: Operation<OperationName>,
  tenant: TenantId | undefined,
  tenancy: Pick<Tenancy, 'admit'>,
): Promise<TenantRecord | undefined> {
  if (tenant === undefined || operation.tenant === 'Named' || !TENANT_ID.test(tenant))
    return Promise.resolve(undefined);
  return tenancy.admit(tenant);
}

/**
 * The tenant of a write, right before it is performed. Made by its first write, where the settings allow it; a write that
 * names by an identifier what it changes cannot be the first, and finds nothing.
 */
export async function provideTenant(
  operation: Operation<OperationName>,
  tenant: TenantId | undefined,
  known: TenantRecord | undefined,
  tenancy: Pick<Tenancy, 'provide'>,
): Promise<TenantRecord | undefined> {
  const { effect, tenant: source } = operation;
  const mayBeFirst = effect === 'Write' && source !== 'Named' && !namesWhatIsThere(operation);
  return known ?? (mayBeFirst && tenant !== undefined ? tenancy.provide(tenant) : undefined);
}
