// Sound conditions of every shape, and events of the same few keys and values, so that one often holds for the other.

import { CLASSIFICATIONS, CONDITION_OPERATORS, DETECTORS, EVENT_OUTCOMES } from '@tallystick/contract';
import * as fc from 'fast-check';
import type { QueryStep } from '../../query/field-path.ts';
import type { EventFacts } from '../event-facts.ts';

const plain = <T>(model: { [K in keyof T]: fc.Arbitrary<T[K]> }): fc.Arbitrary<T> =>
  fc.record<T>(model, { noNullPrototype: true });

const key = fc.oneof(
  { weight: 4, arbitrary: fc.constantFrom('a', 'b') },
  { weight: 1, arbitrary: fc.constantFrom('a.b', 'in', '__proto__', '0', 'a"b]') },
);
const text = fc.constantFrom('x', 'xy', '', '😀', '\uffff', '1', '10.0.0.1');
const number = fc.constantFrom(0, -0, 1, 2.5, 4111111111111111);
const scalar = fc.oneof(text, number, fc.constantFrom(true, false, null));
const step: fc.Arbitrary<QueryStep> = fc.oneof(
  { weight: 6, arbitrary: key },
  { weight: 1, arbitrary: fc.nat({ max: 2 }) },
  { weight: 2, arbitrary: fc.constant(null) },
);

type Path = readonly QueryStep[];
/** The operators of one path, or what stands in their place. */
type Asked = readonly [path: Path, asked: unknown];

/** `ofValues` makes what a value is compared with; each operator may be there or not. */
function operators(compared: fc.Arbitrary<unknown>, ordered: fc.Arbitrary<unknown>): fc.Arbitrary<unknown> {
  const list = fc.array(compared, { maxLength: 4 });
  const object = fc.record(
    {
      eq: compared,
      ne: compared,
      gt: ordered,
      gte: ordered,
      lt: ordered,
      lte: ordered,
      in: list,
      contains: compared,
      startsWith: text,
      exists: fc.boolean(),
    },
    { requiredKeys: [], noNullPrototype: true },
  );
  // Of many operators at once hardly any value passes all.
  const few = fc.tuple(object, fc.nat({ max: 9 }), fc.boolean()).map(([all, at, isPair]) => {
    const names = Object.keys(all);
    const kept = names.filter((_, i) => i === at % names.length || (isPair && i === 0));
    return Object.fromEntries(kept.map((name) => [name, all[name as keyof typeof all]]));
  });
  return fc.oneof(compared, list, few, few);
}

const ordered = fc.oneof(text, number);
const atContent: fc.Arbitrary<Asked> = fc.tuple(
  fc
    .tuple(
      fc.constantFrom('context', 'payload'),
      fc.array(step, { minLength: 1, maxLength: 3, size: 'xsmall' }),
    )
    .map(([root, below]): Path => [root, ...below]),
  fc.oneof(
    { weight: 6, arbitrary: operators(scalar, ordered) },
    { weight: 1, arbitrary: plain({ detects: fc.constantFrom(...DETECTORS) }) },
  ),
);
const atRoot: fc.Arbitrary<Asked> = fc.oneof(
  fc.tuple(
    fc.constantFrom<Path>(['actor'], ['resource'], ['context'], ['payload']),
    fc.oneof(plain({ exists: fc.boolean() }), fc.constant({})),
  ),
  fc.tuple(
    fc.constantFrom<Path>(['context'], ['payload']),
    plain({ detects: fc.constantFrom(...DETECTORS) }),
  ),
);
const atFact: fc.Arbitrary<Asked> = fc.tuple(
  fc.constantFrom<Path>(
    ['actor', 'userId'],
    ['actor', 'a'],
    ['actor', null],
    ['resource', 'resourceType'],
    ['resource', 'a', 'b'],
    ['outcome'],
    ['correlationId'],
  ),
  operators(
    fc.oneof(text, fc.constantFrom(...EVENT_OUTCOMES)),
    fc.oneof(text, fc.constantFrom(...EVENT_OUTCOMES)),
  ),
);
const action = fc.constantFrom('Delete.Invoice', 'Delete.User', 'Read.User');
const actions = fc.oneof(action, fc.constantFrom('Delete.*', '*', 'R*', 'Delete', 'Delete.Invoice*'));
const classifications = fc.constantFrom(...CLASSIFICATIONS, 'C*', '*', 'Secret*', 'Conf*');
const listed = (of: fc.Arbitrary<string>) => fc.array(of, { maxLength: 3 });
const atWord: fc.Arbitrary<Asked> = fc.oneof(
  fc.tuple(fc.constant<Path>(['actions']), listed(actions)),
  fc.tuple(fc.constant<Path>(['classifications']), listed(classifications)),
  fc.tuple(fc.constant<Path>(['action']), operators(actions, action)),
  fc.tuple(
    fc.constant<Path>(['classification']),
    fc.oneof(
      classifications,
      listed(classifications),
      plain({ ne: classifications }),
      plain({ in: listed(classifications) }),
      plain({ startsWith: fc.constantFrom('S', 'Con') }),
      plain({ exists: fc.boolean() }),
    ),
  ),
);

/** How a path is cut into nested keys: a cut before each step or not, and a `$` in front or not. */
const spelling = fc.tuple(fc.array(fc.boolean(), { minLength: 4, maxLength: 4 }), fc.boolean());

function written([path, asked]: Asked, [cuts, isWhole]: readonly [readonly boolean[], boolean]): object {
  const keys: string[] = [];
  for (const [i, each] of path.entries()) {
    const isCut = i > 0 && cuts[i - 1] === true;
    if (i === 0 || isCut) keys.push(stepText(each, true));
    else keys.push(keys.pop()! + stepText(each, false));
  }
  if (isWhole) keys[0] = `$.${keys[0]}`;
  return keys.reduceRight<unknown>((inner, key) => Object.fromEntries([[key, inner]]), asked) as object;
}

function stepText(step: QueryStep, isFirst: boolean): string {
  if (step === null) return '[*]';
  if (typeof step === 'number') return `[${step}]`;
  const isPlain = /^\w+$/.test(step) && !CONDITION_OPERATORS.some((operator) => operator === step);
  return `${isFirst ? '' : '.'}${isPlain ? step : JSON.stringify(step)}`;
}

/** As they are sent. */
export const anyConditions: fc.Arbitrary<Readonly<Record<string, unknown>>> = fc
  .array(
    fc.tuple(
      fc.oneof(
        { weight: 5, arbitrary: atContent },
        { weight: 1, arbitrary: atRoot },
        { weight: 2, arbitrary: atFact },
        { weight: 2, arbitrary: atWord },
      ),
      spelling,
    ),
    { minLength: 1, maxLength: 3, size: 'xsmall' },
  )
  .map((all) => Object.assign({}, ...all.map((each) => written(...each))) as Record<string, unknown>);

const content = fc.letrec<{ value: unknown; members: Readonly<Record<string, unknown>> }>((tie) => ({
  value: fc.oneof(
    { maxDepth: 4, withCrossShrink: true },
    scalar,
    fc.array(tie('value'), { maxLength: 3 }),
    tie('members'),
  ),
  members: fc
    .array(fc.tuple(key, tie('value')), { minLength: 2, maxLength: 5 })
    // Here `__proto__` is a key like any other, as it is to a parser.
    .map((entries) => Object.fromEntries(entries)),
})).members;

/** The members that conditions know. */
export interface AskedEvent extends Omit<EventFacts, 'content'> {
  readonly context?: Readonly<Record<string, unknown>>;
  readonly payload?: Readonly<Record<string, unknown>>;
}

export const anyAskedEvent: fc.Arbitrary<AskedEvent> = fc
  .tuple(
    plain({
      action,
      classification: fc.option(fc.constantFrom(...CLASSIFICATIONS), { nil: undefined }),
      outcome: fc.constantFrom(...EVENT_OUTCOMES),
      correlationId: fc.option(text, { nil: undefined }),
      actor: fc.oneof(
        plain({ actorType: fc.constant('User' as const), userId: text }),
        plain({ actorType: fc.constant('System' as const) }),
      ),
      resource: plain({ resourceType: text, resourceId: text }),
    }),
    fc.record({ context: content, payload: content }, { requiredKeys: [], noNullPrototype: true }),
  )
  .map(([facts, rest]) => ({ ...facts, ...rest }));

export function factsOf({ context, payload, ...facts }: AskedEvent): EventFacts {
  const content = { ...(context && { context }), ...(payload && { payload }) };
  return { ...facts, content: () => content };
}
