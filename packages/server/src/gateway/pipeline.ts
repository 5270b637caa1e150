// The steps that every call takes, in one list, the same for all protocols. A protocol finds the operation and
// the version (404, 400) and then hands the call over; each step lets it through or throws the one error that is
// answered. The order is part of the contract: a stranger learns nothing that a later step would say, and nobody's
// body is read before it is known that they may send one. Where only the body says which operations are asked for, it is
// read once its sender is known (docs/decisions/0030).

import {
  AuditError,
  LIMITS,
  type Operation,
  type OperationName,
  type TenantId,
  type Version,
} from '@tallystick/contract';
import type { Caller } from '../access/caller.ts';
import type { Authenticate, Credentials } from '../access/credentials.ts';
import type { Tenancy } from '../access/tenancy.ts';
import type { Lifecycle } from '../admin/lifecycle.ts';
import type { LogGrowth } from '../admin/log-growth.ts';
import type { Meter } from '../admin/meter.ts';
import { statusOfAnswer, statusOfError, type StatusKind } from '../admin/work-figures.ts';
import type { Call, Received } from '../call.ts';
import { type AnyAnswer, type AnyBound, boundOperation, type Operations } from '../operations.ts';
import type { Clock } from '../runtime/clock.ts';
import type { RatedSender, RateLimits, RatePolicy } from '../rates/rate-limits.ts';
import { type Deadline, withDeadline } from '../runtime/deadline.ts';
import { authenticate, authenticateAnyone, authorize } from './authenticate.ts';
import type { RequestCorrelation } from './correlation.ts';
import { type AnswerOnce, idempotencyKeyOf } from './idempotency.ts';
import { checkOwnTenant } from './own-tenant.ts';
import { resolveTenant, tenantConcerned, tenantNamed } from './resolve-tenant.ts';
import { admitTenant, provideTenant } from './tenant-state.ts';
import type { Validate } from './validate.ts';
import { checkRetired, checkSunset, FIRST_VERSION, type VersionStates } from './versions.ts';

/** A request as its protocol hands it over: routed, not authenticated yet. */
export interface Arrival {
  readonly operation: Operation<OperationName>;
  /** Undefined: the request is outside all versions. */
  readonly version: Version | undefined;
  readonly credentials: Credentials;
  /** Whether the request brings a link that the operation itself judges, in the place of a credential. */
  readonly isLinked?: boolean;
  /** The tenant that the request names beside its input: a header, metadata. */
  readonly tenant: string | undefined;
  /** The tenant that the request is addressed to, where an operation has it in its input. */
  readonly addressedTenant: string | undefined;
  readonly idempotencyKey: string | undefined;
  readonly correlation: RequestCorrelation;
  /** For the limits of rates. */
  readonly sender: RatedSender;
  readonly ratePolicy?: RatePolicy;
  /** The address of the request, as its protocol has it. */
  readonly path: string;
  /** Of a request that carries several operations: its entrance, which is not repeated for each of them. */
  readonly entered?: Entered;
  /** Aborts when the sender no longer waits for the answer: the work stops then. */
  readonly gone?: AbortSignal;
  /**
   * Reads the rest of the request and makes the operation's input of it; synchronously if all of it is there. What a
   * sender sends at once is counted together. `onSent` is told how long the sender took, where it was waited for.
   */
  receive(sender: string, onSent: (spanNs: number) => void): Received | Promise<Received>;
}

/** What is known of a request before anything is known of its operations. */
export type Entrance = Pick<
  Arrival,
  'credentials' | 'correlation' | 'sender' | 'ratePolicy' | 'version' | 'tenant'
>;

/** A request that has come in; made by `enter` alone. */
export interface Entered {
  readonly caller: Caller;
  /** The tenant that the request names, itself or by its credential; undefined: only operations without one can be asked. */
  readonly tenant: TenantId | undefined;
}

export interface Gateway {
  readonly clock: Clock;
  readonly lifecycle: Lifecycle;
  /** For answers that go on when a log does. */
  readonly growth: LogGrowth;
  readonly meter: Pick<Meter, 'answered'>;
  readonly versionStates: VersionStates;
  /** Undefined: nobody can authenticate, so only open operations are served. */
  readonly authenticate: Authenticate | undefined;
  readonly tenancy: Tenancy;
  /** Undefined: no rate is limited. */
  readonly rates: Pick<RateLimits, 'admit' | 'admitIngestion'> | undefined;
  readonly answerOnce: AnswerOnce;
  readonly validate: Validate;
  readonly operations: Operations;
}

/**
 * The first steps of a request that says only in its body which operations it asks for, or that asks for several or none: its
 * rate, its credential and its tenant are judged once, before its body is read. Each operation then passes the other steps.
 */
export async function enter(entrance: Entrance, gateway: Gateway): Promise<Entered> {
  checkEntrance(entrance, gateway);
  checkStarted(gateway.lifecycle);
  await gateway.rates?.admit(entrance.ratePolicy ?? 'Global', entrance.sender);
  const caller = await authenticateAnyone(entrance.credentials, gateway.authenticate);
  return { caller, tenant: tenantNamed(caller, entrance.tenant) };
}

export async function passThrough(arrival: Arrival, gateway: Gateway): Promise<AnyAnswer> {
  const { operation, correlation, path } = arrival;
  const { clock, meter, rates } = gateway;
  const beganNs = clock.monotonicNs();
  let concerned: TenantId | undefined;
  let sendingNs = 0;
  let isAdmitted = false;
  const note = (status: StatusKind) =>
    meter.answered(operation, concerned, status, beganNs + sendingNs, isAdmitted);
  try {
    if (arrival.entered === undefined) {
      checkEntrance(arrival, gateway);
      if (operation.permission !== null) checkStarted(gateway.lifecycle);
      if (rates !== undefined && isLimited(operation))
        await rates.admit(arrival.ratePolicy ?? 'Global', arrival.sender);
    }
    const isLinked = operation.signedLink === true && arrival.isLinked === true;
    const caller = isLinked ? undefined : await callerOf(arrival, gateway);
    const tenant = resolveTenant(operation, caller, arrival.tenant, arrival.addressedTenant);
    concerned = tenantConcerned(operation, caller, tenant);
    const tenantRecord = await admitTenant(operation, tenant, gateway.tenancy);
    if (!isLinked) authorize(operation, caller);
    // A link is judged by its operation.
    isAdmitted = !isLinked;
    checkSunset(operation, arrival.version, gateway.versionStates);
    // Known to be allowed to: strangers take none of the tenant's permits.
    if (rates !== undefined && operation.rated === true && tenant !== undefined)
      await rates.admitIngestion(tenant, tenantRecord?.tier ?? 'Standard', arrival.sender);
    const received = await arrival.receive(tenant ?? caller?.identity ?? '', (spanNs) => {
      // A client that sends slowly does not make the service slow.
      sendingNs = spanNs;
    });
    correlation.adoptFrom(operation, received.input);
    const key = operation.idempotency === 'Key' ? arrival.idempotencyKey : undefined;
    const once = key === undefined ? undefined : idempotencyKeyOf(key, received, caller);
    const { name } = operation;
    const version = arrival.version ?? FIRST_VERSION;
    // Awaited: handing a promise on would take three turns of the queue, not one.
    const given = await inTime(arrival, clock, (deadline) =>
      answer(
        { correlation, operation: name, version, path, caller, tenant, tenantRecord, once, deadline },
        received,
        operation,
        gateway,
      ),
    );
    note(statusOfAnswer(given.kind));
    return given;
  } catch (error) {
    note(statusOfError(error));
    throw error;
  }
}

/** Undefined where the operation is open to all. */
function callerOf(
  { operation, entered, credentials }: Arrival,
  gateway: Gateway,
): Caller | undefined | Promise<Caller> {
  if (entered === undefined) return authenticate(operation, credentials, gateway.authenticate);
  return operation.permission === null ? undefined : entered.caller;
}

function answer(
  call: Call,
  received: Received,
  operation: Operation<OperationName>,
  gateway: Gateway,
): Promise<AnyAnswer> {
  const bound = boundOperation(gateway.operations, call.operation);
  if (call.once === undefined) return perform(bound, call, received, operation, gateway);
  const { answerAgain, performUnvalidated, writesTo, commitFindsKey } = bound;
  if (answerAgain === undefined) throw new Error(`${call.operation} honours keys and cannot answer again`);
  // Read as it was the first time: validated, unless the operation does that itself. Every input is an object.
  const readAgain = (): Received =>
    performUnvalidated === undefined
      ? { ...received, input: gateway.validate(operation, received) as Received['input'] }
      : received;
  const answerIn = (inLogOf: Call) =>
    gateway.answerOnce(
      inLogOf,
      received,
      (used) => answerAgain(call, readAgain(), used),
      () => perform(bound, call, received, operation, gateway),
      commitFindsKey,
    );
  return writesTo === undefined
    ? answerIn(call)
    : writesTo(call, received.input).then((owner) => answerIn({ ...call, ...owner }));
}

async function perform(
  bound: AnyBound,
  call: Call,
  received: Received,
  operation: Operation<OperationName>,
  gateway: Gateway,
): Promise<AnyAnswer> {
  checkOwnTenant(operation, received.input, call.tenant);
  if (bound.performUnvalidated !== undefined) return await bound.performUnvalidated(call, received);
  bound.checkReach?.(call, received.input);
  const { rules } = bound;
  const input = gateway.validate(operation, received, rules && ((sent) => rules(sent, call)));
  const tenantRecord = await provideTenant(operation, call.tenant, call.tenantRecord, gateway.tenancy);
  const known = tenantRecord === call.tenantRecord ? call : { ...call, tenantRecord };
  return bound.perform(known, input);
}

/** Probes and documents are asked for by machines that must not be turned away, and permits come back by one operation. */
const isLimited = ({ permission, name }: Operation<OperationName>): boolean =>
  permission !== null && name !== 'rateLimits.replenish';

function checkEntrance(
  { version, correlation }: Pick<Entrance, 'version' | 'correlation'>,
  { versionStates }: Gateway,
): void {
  checkRetired(version, versionStates);
  correlation.check();
}

/** Operations that are open to all, such as probes, do not wait for it. */
function checkStarted({ phase }: Lifecycle): void {
  if (phase === 'Starting') throw new AuditError('SERVICE_UNAVAILABLE', 'The service is starting.');
}

const nobodyWaits = () => new AuditError('SERVICE_UNAVAILABLE', 'Nobody waits for the answer.');

function inTime<T>(
  { operation, gone }: Pick<Arrival, 'operation' | 'gone'>,
  clock: Clock,
  work: (deadline: Deadline) => Promise<T>,
) {
  const { ms, error } = operation.timeout ?? { ms: LIMITS.requestTimeoutMs, error: 'SERVICE_UNAVAILABLE' };
  const tooLate = () =>
    new AuditError(error, `${operation.name} took over ${ms / 1000} seconds and was stopped.`);
  return withDeadline(clock, ms, tooLate, work, gone && { signal: gone, error: nobodyWaits });
}
