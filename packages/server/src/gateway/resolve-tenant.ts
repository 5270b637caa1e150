// Whose data a call is about: the tenant named by the path, by `X-Tenant-Id` or by a token's claim. All that name
// one must agree with each other and with what the credential is for, else nothing is answered about either.

import {
  AuditError,
  type Operation,
  type OperationName,
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
  const tenant = (operation.tenant === 'Path' ? inPath : undefined) ?? inHeader ?? claimed;
  if (tenant === undefined) throw new AuditError('MISSING_TENANT', 'Name the tenant in X-Tenant-Id.');
  // A credential that is for no tenant agrees with none.
  const isForCaller = caller.tenant === '*' || caller.tenant === tenant;
  if (!isForCaller || (inHeader !== undefined && inHeader !== tenant)) {
    throw new AuditError(
      'TENANT_MISMATCH',
      'The tenants named by path, header and credential are not the same.',
    );
  }
  return tenant;
}

/** A header that was sent twice arrives joined by a comma, which no tenant id contains. */
function readHeader(headers: HeaderValues): TenantId | undefined {
  const given = header(headers, 'x-tenant-id');
  if (given === undefined || TENANT_ID.test(given)) return given;
  const issue =
    'must be 1 to 64 letters, digits, dots, underscores or hyphens, beginning with a letter or digit';
  throw new AuditError('INVALID_HEADER', `X-Tenant-Id ${issue}, and sent once.`, {
    details: [{ field: 'X-Tenant-Id', issue, value: given }],
  });
}
