// Every operation bound to the function that does it. An operation of the contract that is not in this list is not served
// by any protocol.

import {
  type Answer,
  type AnswerFacts,
  type AnswerKind,
  type HealthReport,
  type InputOf,
  type OperationName,
  operationNamed,
  OPERATIONS,
  type Renderings,
} from '@tallystick/contract';
import type { Health } from './admin/health.ts';
import type { Call, OwnViolation, Received } from './call.ts';
import type { UsedIdempotencyKey } from './streams/log.ts';

/** Performs the operation. The input has been validated against the operation's own schema. */
export type Perform<N extends OperationName> = (call: Call, input: InputOf<N>) => Promise<Answer<N>>;

/** Validates the request itself while it performs the operation, so that the input is read once. */
export type PerformUnvalidated<N extends OperationName> = (
  call: Call,
  received: Received,
) => Promise<Answer<N>>;

/**
 * Rules of the operation beyond its schema; one answer lists all violations. The input need
 * not follow the schema: violations of the schema are reported elsewhere.
 */
export type OwnRules = (input: Received['input'], call: Call) => readonly OwnViolation[];

/** The answer to a repeat; every operation that honours an idempotency key may give it. */
export type AnotherAnswer<N extends OperationName> = Omit<Answer<N>, 'kind'> & {
  readonly kind: Answer<N>['kind'] | 'Repeated';
};

/** Gives the first answer again to a request whose key was used up before, for this very request. */
export type AnswerAgain<N extends OperationName> = (
  call: Call,
  received: Received,
  used: UsedIdempotencyKey,
) => AnotherAnswer<N> | Promise<AnotherAnswer<N>>;

/**
 * The tenant whose log the operation writes to, and which therefore remembers the idempotency key, with what is known of it.
 * Undefined: the tenant of the call. Never a tenant that the caller may not reach. The input has not been validated.
 */
export type WritesTo = (call: Call, input: Received['input']) => Promise<LogOwner | undefined>;
export type LogOwner = Pick<Call, 'tenant' | 'tenantRecord'>;

/** An operation that honours an idempotency key must be able to answer again. */
export type BoundOperation<N extends OperationName> =
  | {
      readonly perform: Perform<N>;
      readonly rules?: OwnRules;
      readonly answerAgain?: AnswerAgain<N>;
      readonly keyKeptWith?: 'Job';
      readonly writesTo?: WritesTo;
      /** Throws where the input names a tenant that the caller may not reach. It has not been validated. */
      readonly checkReach?: (call: Call, input: Received['input']) => void;
    }
  | {
      readonly performUnvalidated: PerformUnvalidated<N>;
      readonly answerAgain?: AnswerAgain<N>;
      readonly commitFindsKey?: true;
    };

export type Operations = { readonly [N in OperationName]?: Perform<N> | BoundOperation<N> };

/** The operations that are bound. */
export const namesOf = (operations: Operations): OperationName[] =>
  OPERATIONS.map(({ name }) => name).filter((name) => operations[name] !== undefined);

/** The operations whose names begin with one of these words. */
type OperationsOf<Word extends string> = Pick<Operations, Extract<OperationName, `${Word}.${string}`>>;

/** The operations, by the part of the service that performs them. */
export interface OperationParts {
  readonly health: Health;
  readonly events?: OperationsOf<'events'> & Pick<Operations, 'streams.listEvents'>;
  readonly erasures?: OperationsOf<'erasures'>;
  readonly streams?: Omit<OperationsOf<'streams' | 'checkpoints' | 'log'>, 'streams.listEvents'>;
  readonly apiKeys?: OperationsOf<'apiKeys'>;
  readonly tenants?: OperationsOf<'tenants'>;
  readonly policies?: OperationsOf<'policies'>;
  readonly holds?: OperationsOf<'holds'>;
  readonly subscriptions?: OperationsOf<'subscriptions' | 'deliveries'>;
  readonly exports?: OperationsOf<'exports'>;
  readonly retention?: OperationsOf<'retention'>;
  readonly violations?: OperationsOf<'violations'>;
  readonly admin?: OperationsOf<'projections' | 'operations' | 'deadLetters'>;
  readonly rates?: OperationsOf<'rateLimits'>;
  readonly status?: Pick<Operations, 'status.get' | 'metrics.get' | 'process.metrics'>;
}

export function bindOperations({ health, ...parts }: OperationParts): Operations {
  const operations: Operations = {
    ...parts.events,
    ...parts.erasures,
    ...parts.streams,
    ...parts.apiKeys,
    ...parts.tenants,
    ...parts.policies,
    ...parts.holds,
    ...parts.subscriptions,
    ...parts.exports,
    ...parts.retention,
    ...parts.violations,
    ...parts.admin,
    ...parts.rates,
    ...parts.status,
    'health.get': async () => healthAnswer(await health.report()),
    'health.live': async () => ({ kind: 'Done', body: await health.live() }),
    'health.ready': async () => healthAnswer(await health.ready()),
    'process.live': async () => ({ kind: 'Done', body: await health.live() }),
    'process.ready': async () => healthAnswer(await health.ready()),
    'process.startup': async () => healthAnswer(await health.startup()),
  };
  assertRepeatable(operations);
  return operations;
}

/** Fails at the start rather than at the first request with a key. */
function assertRepeatable(operations: Operations): void {
  for (const [name, bound] of entriesOf(operations)) {
    if (operationNamed(name).idempotency === 'Key' && !('answerAgain' in bound)) {
      throw new Error(`${name} honours idempotency keys, so it must be able to answer again`);
    }
  }
}

function entriesOf(operations: Operations): [OperationName, object][] {
  // Its type says so; the library's does not.
  return Object.entries(operations) as [OperationName, object][];
}

function healthAnswer(body: HealthReport) {
  return { kind: body.status === 'Unhealthy' ? 'Unavailable' : 'Done', body } as const;
}

/** An answer whose operation is not known at compile time. */
export interface AnyAnswer {
  readonly kind: AnswerKind;
  readonly body: unknown;
  readonly facts?: AnswerFacts;
  readonly alsoAs?: Renderings;
  readonly isGuarded?: boolean;
}

/** A bound operation whose name is not known at compile time. */
export type AnyBound = AnyValidated | AnyUnvalidated;

interface AnyRepeatable {
  readonly answerAgain?: (
    call: Call,
    received: Received,
    used: UsedIdempotencyKey,
  ) => AnyAnswer | Promise<AnyAnswer>;
  /** 'Job': the idempotency key is stored with the job that the request asks for; undefined: with its entry in the log. */
  readonly keyKeptWith?: 'Job';
  /**
   * The commit looks the key up and answers a repeat, and nothing before the commit has an effect. So the key is looked
   * up beforehand only where there is no commit.
   */
  readonly commitFindsKey?: true;
  readonly writesTo?: WritesTo;
}

interface AnyValidated extends AnyRepeatable {
  readonly perform: (call: Call, input: unknown) => Promise<AnyAnswer>;
  readonly performUnvalidated?: undefined;
  readonly rules?: OwnRules;
  readonly checkReach?: (call: Call, input: Received['input']) => void;
}

interface AnyUnvalidated extends AnyRepeatable {
  readonly performUnvalidated: (call: Call, received: Received) => Promise<AnyAnswer>;
}

export type { UsedIdempotencyKey };

export function boundOperation(operations: Operations, name: OperationName): AnyBound {
  // The compiler cannot see that name, input and function belong together; `Operations` has made sure of it.
  const bound = operations[name] as AnyBound | AnyValidated['perform'] | undefined;
  if (bound === undefined) throw new Error(`${name} is routed but not bound`);
  return typeof bound === 'function' ? { perform: bound } : bound;
}
