// Where a request repeats its tenant, in the query or in the body, it must be the tenant of the call. This is
// settled before anything is validated: a caller who asks about another tenant learns that and nothing else. Items that
// the operation judges one by one are left to it.

import {
  asJson,
  AuditError,
  type Operation,
  type OperationName,
  ownTenantPaths,
  type TenantId,
} from '@tallystick/contract';
import { foreignTenant } from '../access/foreign-tenant.ts';
import { receivedMember } from '../call.ts';

const known = new WeakMap<object, string[][]>();

export function checkOwnTenant(
  operation: Operation<OperationName>,
  input: unknown,
  tenant: TenantId | undefined,
): void {
  if (tenant === undefined) return;
  for (const path of pathsOf(operation)) {
    const mismatch = foreignTenant(path.reduce(receivedMember, input), path.at(-1) ?? '', tenant);
    if (mismatch !== undefined) throw new AuditError(mismatch.code, mismatch.message, mismatch);
  }
}

function pathsOf({ input, tenant }: Operation<OperationName>): string[][] {
  let paths = known.get(input);
  if (paths === undefined) {
    paths = ownTenantPaths(asJson(input));
    // Not every protocol can tell the address of a request before its body is read.
    if (tenant === 'Addressed') paths.push(['tenantId']);
    known.set(input, paths);
  }
  return paths;
}
