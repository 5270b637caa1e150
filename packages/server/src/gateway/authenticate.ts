// Authenticates and authorizes the caller. The step fails closed: where nobody can authenticate, nobody is let in. Operations
// without a permission are open, and credentials sent to them are ignored.

import {
  AuditError,
  type Operation,
  type OperationName,
  type Permission,
  PERMISSIONS,
} from '@tallystick/contract';
import type { Caller } from '../access/caller.ts';
import type { Authenticate, Credentials } from '../access/credentials.ts';
import type { AccessRefusal } from '../access/roles.ts';

export function authenticate(
  operation: Operation<OperationName>,
  credentials: Credentials,
  verify: Authenticate | undefined,
): Promise<Caller> | undefined {
  return operation.permission === null ? undefined : authenticateAnyone(credentials, verify);
}

/** Of a request whose operations are not known yet. */
export function authenticateAnyone(
  credentials: Credentials,
  verify: Authenticate | undefined,
): Promise<Caller> {
  if (verify === undefined || (credentials.authorization === undefined && credentials.apiKey === undefined)) {
    throw new AuditError(
      'UNAUTHENTICATED',
      'Send a bearer token in Authorization, or an API key in X-API-Key.',
    );
  }
  return verify(credentials);
}

/** Whether the caller may do this at all; what it may see of the result is the operation's concern. */
export function authorize(operation: Operation<OperationName>, caller: Caller | undefined): void {
  const { permission } = operation;
  if (permission === null) return;
  const refusal = caller === undefined ? 'FORBIDDEN' : caller.refusal(permission);
  if (refusal !== undefined) throw new AuditError(refusal, messageFor(refusal, permission));
}

/** Says what to ask for: the table of permissions is public, what the caller has is not repeated. */
function messageFor(refusal: AccessRefusal, permission: Permission): string {
  const { scope, roles } = PERMISSIONS[permission];
  const needs = `This needs the permission ${permission}: send`;
  if (scope === null) return `${needs} a platform key with the role Admin.`;
  return refusal === 'INSUFFICIENT_SCOPE'
    ? `${needs} a credential with the scope ${scope} and, if it has roles, the role ${roles.join(' or ')}.`
    : `${needs} a credential with the role ${roles.join(' or ')}.`;
}
