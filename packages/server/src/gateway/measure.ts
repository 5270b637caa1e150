// What is noted of each call, whatever protocol it came by: which operation, whose, how it ended, how long it took.

import {
  type AnswerKind,
  AuditError,
  type Operation,
  type OperationName,
  type Permission,
  REST_STATUS_OF_ANSWER,
  REST_STATUS_OF_ERROR,
  type TenantId,
} from '@tallystick/contract';
import type { Caller } from '../access/caller.ts';
import type { StatusKind } from '../admin/work-figures.ts';

/** A probe that reports that the service should not be used has not failed: it answers exactly what was asked. */
export function kindOfAnswer(kind: AnswerKind): StatusKind {
  return kind === 'Unavailable' ? '2xx' : kindOf(REST_STATUS_OF_ANSWER[kind]);
}

/** What is not in the catalogue is ours. */
export function kindOfError(error: unknown): StatusKind {
  return error instanceof AuditError ? kindOf(REST_STATUS_OF_ERROR[error.code]) : '5xx';
}

function kindOf(status: number): StatusKind {
  if (status < 400) return '2xx';
  return status < 500 ? '4xx' : '5xx';
}

/** With these a platform key reaches beyond the tenant that it names. */
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
