// Where a request, or an event in it, repeats its tenant, that must be the tenant of the request. A value that names
// another one is refused for that and for nothing else. A value that is no text is left to validation.

import { cutText, type ErrorDetail, type TenantId } from '@tallystick/contract';

export interface TenantMismatch {
  readonly code: 'TENANT_MISMATCH';
  readonly message: string;
  readonly details: ErrorDetail[];
}

/** `field` is where the value stands. */
export function foreignTenant(value: unknown, field: string, tenant: TenantId): TenantMismatch | undefined {
  if (typeof value !== 'string' || value === tenant) return undefined;
  const issue = `must be ${tenant}, the tenant of the request, or left out`;
  const details = [{ field, issue, value: cutText(value) }];
  return { code: 'TENANT_MISMATCH', message: `${field} ${issue}.`, details };
}
