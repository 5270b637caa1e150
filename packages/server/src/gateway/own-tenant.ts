// Where a request repeats its tenant, in the query or in the body, it must be the tenant of the call. This is
// settled before anything is validated: whoever asks about another tenant learns that and nothing else. A value
// that is no text is left to validation, as are items that the operation judges one by one.

import {
  asJson,
  AuditError,
  type Operation,
  type OperationName,
  ownTenantPaths,
  type TenantId,
} from '@tallystick/contract';
import { receivedMember } from '../call.ts';

const known = new WeakMap<object, string[][]>();

export function checkOwnTenant(
  operation: Operation<OperationName>,
  input: unknown,
  tenant: TenantId | undefined,
): void {
  if (tenant === undefined) return;
  for (const path of pathsOf(operation)) {
    const value = path.reduce(receivedMember, input);
    if (typeof value !== 'string' || value === tenant) continue;
    const field = path.at(-1) ?? '';
    const issue = `must be ${tenant}, the tenant of the request, or left out`;
    throw new AuditError('TENANT_MISMATCH', `${field} ${issue}.`, { details: [{ field, issue, value }] });
  }
}

function pathsOf({ input }: Operation<OperationName>): string[][] {
  let paths = known.get(input);
  if (paths === undefined) {
    paths = ownTenantPaths(asJson(input));
    known.set(input, paths);
  }
  return paths;
}
