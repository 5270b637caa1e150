// The steps that every call takes, in one list, whatever protocol it came by. A protocol finds the operation and
// the version (404, 400) and then hands the call over; each step lets it through or throws the one error that is
// answered. The order is part of the contract: a stranger learns nothing that a later step would say, and nobody's
// body is read before it is known that they may send one.

import { AuditError, LIMITS, type Operation, type OperationName, type Version } from '@tallystick/contract';
import type { Lifecycle } from '../admin/lifecycle.ts';
import type { Correlation } from '../call.ts';
import { type AnyAnswer, type Operations, perform } from '../operations.ts';
import type { Clock } from '../runtime/clock.ts';
import { withDeadline } from '../runtime/deadline.ts';
import { type Authenticate, authenticate, authorize } from './authenticate.ts';
import { checkCorrelation } from './correlation.ts';
import type { HeaderValues } from './header-values.ts';
import { checkOwnTenant } from './own-tenant.ts';
import { resolveTenant } from './resolve-tenant.ts';
import type { Received, Validate } from './validate.ts';
import { checkVersion, type VersionStates } from './versions.ts';

/** A request as its protocol hands it over: routed, not yet believed. */
export interface Arrival {
  readonly operation: Operation<OperationName>;
  readonly version: Version;
  readonly correlation: Correlation;
  readonly headers: HeaderValues;
  /** The tenant that the path names, for operations that have it there. */
  readonly tenantInPath?: string | undefined;
  /** Reads the rest of the request and makes the operation's input of it. */
  readonly receive: () => Promise<Received>;
}

export interface Gateway {
  readonly clock: Clock;
  readonly lifecycle: Lifecycle;
  readonly versionStates: VersionStates;
  /** Undefined: nobody can authenticate, so only open operations are served. */
  readonly authenticate: Authenticate | undefined;
  readonly validate: Validate;
  readonly operations: Operations;
}

export async function passThrough(arrival: Arrival, gateway: Gateway): Promise<AnyAnswer> {
  const { operation, version, correlation, headers } = arrival;
  checkVersion(operation, version, gateway.versionStates);
  checkCorrelation(headers);
  checkStarted(operation, gateway.lifecycle);
  const caller = await authenticate(operation, headers, gateway.authenticate);
  const tenant = resolveTenant(operation, caller, headers, arrival.tenantInPath);
  authorize(operation, caller);
  const received = await arrival.receive();
  checkOwnTenant(operation, received.input, tenant);
  const input = gateway.validate(operation, received);
  return inTime(operation, gateway.clock, (deadline) =>
    perform(
      gateway.operations,
      { ...correlation, operation: operation.name, version, caller, tenant, deadline },
      input,
    ),
  );
}

/** Probes are answered from the first moment on; everything else waits until the start is finished. */
function checkStarted(operation: Operation<OperationName>, lifecycle: Lifecycle): void {
  if (operation.permission !== null && lifecycle.phase === 'Starting') {
    throw new AuditError('SERVICE_UNAVAILABLE', 'The service is starting.');
  }
}

function inTime<T>(
  operation: Operation<OperationName>,
  clock: Clock,
  work: (deadline: AbortSignal) => Promise<T>,
) {
  const { ms, error } = operation.timeout ?? { ms: LIMITS.requestTimeoutMs, error: 'SERVICE_UNAVAILABLE' };
  const tooLate = () =>
    new AuditError(error, `${operation.name} took over ${ms / 1000} seconds and was stopped.`);
  return withDeadline(clock, ms, tooLate, work);
}
