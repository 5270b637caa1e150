// Every operation bound to the function that does it. What the contract names and this list lacks is not served:
// no protocol offers it.

import type {
  Answer,
  AnswerFacts,
  AnswerKind,
  HealthReport,
  InputOf,
  OperationName,
} from '@tallystick/contract';
import type { Health } from './admin/health.ts';
import type { Call } from './call.ts';

export type Perform<N extends OperationName> = (call: Call, input: InputOf<N>) => Promise<Answer<N>>;

export type Operations = { readonly [N in OperationName]?: Perform<N> };

export interface Parts {
  readonly health: Health;
}

export function bindOperations({ health }: Parts): Operations {
  return {
    'health.get': async () => healthAnswer(await health.report()),
    'health.live': async () => ({ kind: 'Done', body: await health.live() }),
    'health.ready': async () => healthAnswer(await health.ready()),
    'process.live': async () => ({ kind: 'Done', body: await health.live() }),
    'process.ready': async () => healthAnswer(await health.ready()),
    'process.startup': async () => healthAnswer(await health.startup()),
  };
}

function healthAnswer(body: HealthReport) {
  return { kind: body.status === 'Unhealthy' ? 'Unavailable' : 'Done', body } as const;
}

/** An answer whose operation is not known at compile time. */
export interface AnyAnswer {
  readonly kind: AnswerKind;
  readonly body: unknown;
  readonly facts?: AnswerFacts;
}

/** Does the operation. The input has been validated against the operation's own schema. */
export function perform(operations: Operations, call: Call, input: unknown): Promise<AnyAnswer> {
  // The compiler cannot see that name, input and function belong together; `Operations` has made sure of it.
  const bound = operations[call.operation] as
    | ((call: Call, input: unknown) => Promise<AnyAnswer>)
    | undefined;
  if (bound === undefined) throw new Error(`${call.operation} is routed but not bound`);
  return bound(call, input);
}
