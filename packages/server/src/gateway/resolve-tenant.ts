// Whose data a call is about: the tenant named by the path, by `X-Tenant-Id` or by a token's claim. All that name
// one must agree with each other and with what the credential is for, else nothing is answered about either.

import {
  AuditError,
  type Operation,
  type OperationName,
  TENANT_ID_EXPECTED,
  TENANT_ID_PATTERN,
  type TenantId,
} from '@tallystick/contract';
import type { Caller } from '../access/caller.ts';
import { header, type HeaderValues } from './header-values.ts';

const TENANT_ID = new RegExp(TENANT_ID_PATTERN);

export function resolveTenant(
  operation: Operation<OperationName>,
  caller: Caller | undefined,
  headers: HeaderValues,
  inPath: string | undefined,
): TenantId | undefined {
  if (operation.tenant === 'None' || caller === undefined) return undefined;
  const inHeader = readHeader(headers);
  const claimed = caller.namesTenant && caller.tenant !== '*' ? caller.tenant : undefined;
  const ofPath = operation.tenant === 'Path' ? inPath : undefined;
  const tenant = ofPath ?? inHeader ?? claimed;
  if (tenant === undefined) throw new AuditError('MISSING_TENANT', missingMessage(caller));
  if (inHeader !== undefined && inHeader !== tenant) {
    throw mismatch('X-Tenant-Id', 'must be the tenant in the path, or left out', inHeader);
  }
  // A credential that is for no tenant agrees with none.
  if (caller.tenant !== '*' && caller.tenant !== tenant) {
    throw mismatch(ofPath === undefined ? 'X-Tenant-Id' : 'tenantId', issueFor(caller), tenant);
  }
  return tenant;
}

function missingMessage({ namesTenant }: Caller): string {
  return namesTenant
    ? 'The token has no tenant claim, so it is for no tenant: send one that has.'
    : 'Name the tenant in the header X-Tenant-Id: an API key does not say it.';
}

/**
 * A token shows its tenant to whoever holds it. A key does not: whoever has found one must not learn here whose data
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

/** A header that was sent twice arrives joined by a comma, which no tenant id contains. */
function readHeader(headers: HeaderValues): TenantId | undefined {
  const given = header(headers, 'x-tenant-id');
  if (given === undefined || TENANT_ID.test(given)) return given;
  const issue = `must be ${TENANT_ID_EXPECTED}`;
  throw new AuditError('INVALID_HEADER', `X-Tenant-Id ${issue}, and sent once.`, {
    details: [{ field: 'X-Tenant-Id', issue, value: given }],
  });
}
