// Finds the tenant of a call: the one in the address of the request, in `X-Tenant-Id`, or in a token's claim. All of them
// must agree with each other and with the credential; otherwise the answer says nothing about either.

import {
  AuditError,
  type Operation,
  type OperationName,
  type Permission,
  TENANT_ID_EXPECTED,
  TENANT_ID_PATTERN,
  type TenantId,
} from '@tallystick/contract';
import type { Caller } from '../access/caller.ts';

const TENANT_ID = new RegExp(TENANT_ID_PATTERN);

export function resolveTenant(
  operation: Operation<OperationName>,
  caller: Caller | undefined,
  named: string | undefined,
  addressed: string | undefined,
): TenantId | undefined {
  if (operation.tenant === 'None' || caller === undefined) return undefined;
  checkNamed(named);
  const inAddress = operation.tenant === 'Addressed' ? addressed : undefined;
  const tenant = inAddress ?? named ?? claimed(caller);
  if (tenant === undefined) throw new AuditError('MISSING_TENANT', missingMessage(caller));
  if (named !== undefined && named !== tenant) {
    throw mismatch('X-Tenant-Id', 'must be the tenant in the path, or left out', named);
  }
  checkAgrees(caller, tenant, inAddress === undefined ? 'X-Tenant-Id' : 'tenantId');
  return tenant;
}

/** The tenant of a request whose operations are not known yet; undefined where it names none, which not all of them need. */
export function tenantNamed(caller: Caller, named: string | undefined): TenantId | undefined {
  checkNamed(named);
  const tenant = named ?? claimed(caller);
  if (tenant !== undefined) checkAgrees(caller, tenant, 'X-Tenant-Id');
  return tenant;
}

function claimed({ namesTenant, tenant }: Caller): TenantId | undefined {
  return namesTenant && tenant !== '*' ? tenant : undefined;
}

function checkAgrees(caller: Caller, tenant: string, field: string): void {
  // A credential that is for no tenant agrees with none.
  if (caller.tenant !== '*' && caller.tenant !== tenant) throw mismatch(field, issueFor(caller), tenant);
}

/** Permissions with which a platform key reaches beyond the tenant that it names. */
const BEYOND: readonly (Permission | null)[] = ['audit.keys.manage', 'audit.admin.operate'];

/**
 * The tenant in whose figures a call is counted: the one that it concerns, and concerns alone. Else a tenant could tell by
 * its own figures what is done about others in its name.
 */
export function tenantConcerned(
  { tenant: source, permission }: Operation<OperationName>,
  caller: Caller | undefined,
  tenant: TenantId | undefined,
): TenantId | undefined {
  if (source === 'Named') return undefined;
  return caller?.tenant === '*' && BEYOND.includes(permission) ? undefined : tenant;
}

function missingMessage({ namesTenant }: Caller): string {
  return namesTenant
    ? 'The token has no tenant claim, so it is for no tenant: send one that has.'
    : 'Name the tenant in the header X-Tenant-Id: an API key does not say it.';
}

/**
 * A token shows its tenant to its holder. A key does not: somebody who has found one must not learn here whose data
 * it opens.
 */
function issueFor({ namesTenant, tenant }: Caller): string {
  if (!namesTenant) return 'must be the tenant that the API key is for';
  return tenant === undefined
    ? 'cannot be used with a token that has no tenant claim'
    : `must be ${tenant}, the tenant that the token is for`;
}

function mismatch(field: string, issue: string, value: string): AuditError {
  return new AuditError('TENANT_MISMATCH', `${field} ${issue}.`, { details: [{ field, issue, value }] });
}

/** One that was sent twice arrives joined by a comma, which no tenant id contains. */
function checkNamed(given: string | undefined): void {
  if (given === undefined || TENANT_ID.test(given)) return;
  const issue = `must be ${TENANT_ID_EXPECTED}`;
  throw new AuditError('INVALID_HEADER', `X-Tenant-Id ${issue}, and sent once.`, {
    details: [{ field: 'X-Tenant-Id', issue, value: given }],
  });
}
