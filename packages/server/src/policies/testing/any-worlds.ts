// Pairs of worlds: the same policies and one reader, and two logs that this reader cannot tell apart. They differ in all that
// the reader may not see, as far as others of few words can be found for it.

import { isDeepStrictEqual } from 'node:util';
import { type Classification, CLASSIFICATIONS, type Role, type RuleEffect } from '@tallystick/contract';
import * as fc from 'fast-check';
import {
  type Members,
  plainlySeen,
  type Reader,
  type SentEvent,
  type SentHold,
  type SentPolicy,
  type SentRule,
} from './plain-sight.ts';

export interface Worlds {
  readonly policies: readonly SentPolicy[];
  readonly holds: readonly SentHold[];
  readonly reader: Reader;
  readonly one: readonly SentEvent[];
  readonly other: readonly SentEvent[];
}

const EVENTS = 12;
/** Drawn for each event, to change it by; and how many of them change single members, which takes long to judge. */
const OTHERS = 3;
const MEMBERS_FROM = 2;

const plain = <T>(model: { [K in keyof T]: fc.Arbitrary<T[K]> }): fc.Arbitrary<T> =>
  fc.record<T>(model, { noNullPrototype: true });
const some = (model: Readonly<Record<string, fc.Arbitrary<unknown>>>): fc.Arbitrary<Members> =>
  fc.record(model, { requiredKeys: [], noNullPrototype: true });

export const WORDS = ['refund', 'late', 'gold', 'ana', 'roth', 'chest'];
const word = fc.constantFrom(...WORDS);
const words = fc.array(word, { minLength: 1, maxLength: 3 }).map((all) => all.join(' '));
const amount = fc.constantFrom(0, 5, 10, 99.5);
const person = some({ name: word, email: fc.constantFrom('ana@acme.test', 'roth@acme.test', 'none') });

/** Each member is there often, so that there is something to hide. */
const content = plain({
  context: fc.option(some({ team: word, ip: fc.constantFrom('10.0.0.1', '10.0.0.2') }), {
    nil: undefined,
    freq: 3,
  }),
  payload: fc.option(
    some({
      note: words,
      amount,
      person,
      list: fc.array(fc.oneof(word, amount), { maxLength: 3 }),
      gold: fc.boolean(),
    }),
    { nil: undefined, freq: 9 },
  ),
});

const name = fc.option(fc.constantFrom('Ana Roth', 'Ben Gold', 'Ana Late'), { nil: undefined, freq: 4 });
const actor = fc
  .tuple(fc.boolean(), fc.constantFrom('u-1', 'u-2', undefined), name)
  .map(([isUser, id, named]) =>
    isUser
      ? { actorType: 'User', ...(id && { userId: id }), ...(named && { userName: named }) }
      : { actorType: 'Service', ...(id && { serviceId: id }), ...(named && { serviceName: named }) },
  );
const resource = fc
  .tuple(fc.constantFrom('Invoice', 'Payroll'), fc.constantFrom('R-1', 'R-2'), name)
  .map(([resourceType, resourceId, named]) => ({
    resourceType,
    resourceId,
    ...(named && { resourceName: named }),
  }));

const event: fc.Arbitrary<Omit<SentEvent, 'eventId'>> = plain({
  timestamp: fc.constantFrom(
    '2026-01-01T01:00:00.000Z',
    '2026-01-01T02:30:00.000Z',
    '2026-01-02T03:00:00.000Z',
    '2026-01-02T03:00:00.000000001Z',
  ),
  correlationId: fc.constantFrom(
    '7d3f0c52-6a3e-4b51-9a0e-2f6b1f3c9d11',
    '7d3f0c52-6a3e-4b51-9a0e-2f6b1f3c9d22',
  ),
  actor,
  action: fc.constantFrom('Create.Invoice', 'Delete.Invoice', 'Read.Payroll'),
  resource,
  outcome: fc.constantFrom('Success', 'Denied'),
  hint: fc.option(fc.constantFrom(...CLASSIFICATIONS), { nil: undefined }),
  content,
}).map(({ hint, content: { context, payload }, ...facts }) => ({
  ...facts,
  ...(hint && { classification: hint }),
  ...(context && { context }),
  ...(payload && { payload }),
}));

export const anyCondition: fc.Arbitrary<SentRule['conditions']> = fc.constantFrom<SentRule['conditions'][]>(
  {},
  { action: 'Delete.Invoice' },
  { actions: ['Create.*', 'Read.*'] },
  { 'actor.userId': 'u-1' },
  { 'actor.userId': { ne: 'u-1' } },
  { 'actor.userName': { contains: 'Ana' } },
  { 'actor.serviceName': { exists: true } },
  { 'resource.resourceType': 'Payroll' },
  { 'resource.resourceName': { startsWith: 'Ben' } },
  { outcome: 'Denied' },
  { classification: ['Confidential', 'Secret'] },
  { classification: { ne: 'Internal' } },
  { 'payload.note': { contains: 'refund' } },
  { 'payload.note': { ne: 'gold' } },
  { 'payload.amount': { gte: 10 } },
  { 'payload.list[*]': 'gold' },
  { 'payload.list': { exists: false } },
  { 'payload.person.name': ['ana', 'roth'] },
  { payload: { detects: 'EmailAddress' } },
  { payload: { exists: false } },
  { 'context.team': 'gold' },
  { context: { exists: true }, outcome: 'Success' },
);

const NAMES = ['actor.userName', 'actor.serviceName', 'resource.resourceName'];
const PATHS = [
  'payload.note',
  'payload.amount',
  'payload.person',
  'payload.person.email',
  'payload.list[*]',
  'payload.list[0]',
  'payload',
  'context',
  'context.team',
  ...NAMES,
];
const ROLES: readonly Role[] = ['Viewer', 'Auditor', 'Operator'];
const redactFields = fc.subarray(PATHS, { maxLength: 3 });
const limit = fc.option(fc.constantFrom<Classification>(...CLASSIFICATIONS), { nil: undefined });

const accessEffect: fc.Arbitrary<RuleEffect> = fc
  .record({
    access: fc.constantFrom('Allow' as const, 'Allow' as const, 'Allow' as const, 'Deny' as const),
    roles: fc.subarray([...ROLES], { minLength: 1 }),
    maxClassification: limit,
    redactFields,
  })
  .map(({ maxClassification, ...others }) => ({
    ...others,
    ...(maxClassification && { maxClassification }),
  }));
/** Content is withheld anyway where these hide something. */
const classifyingEffect: fc.Arbitrary<RuleEffect> = fc.record({
  classification: fc.constantFrom<Classification>(...CLASSIFICATIONS),
  redactFields: fc.oneof(redactFields, fc.subarray(NAMES, { minLength: 1 })),
});
const retainingEffect: fc.Arbitrary<RuleEffect> = fc.record({
  retentionPeriod: fc.constantFrom('P30D', 'P1Y', 'P12M'),
  legalHold: fc.constantFrom(false, false, true),
});
/** Some begin or end among the events. */
const range = fc
  .tuple(fc.nat({ max: 20 }), fc.nat({ max: 20 }))
  .map(([from, more]) => ({ fromSequence: from + 1, toSequence: from + more + 1 }));
const holds = fc
  .array(fc.record({ conditions: anyCondition, range }, { requiredKeys: ['conditions'] }), { maxLength: 3 })
  .map((all) => all.map((hold, i): SentHold => ({ name: `hold ${i}`, ...hold })));

/** Each match raises a violation; of the last rule, each first one of its serial number. */
const ALERTS: SentPolicy = {
  name: 'Alert',
  policyType: 'Alert',
  priority: 100,
  rules: [
    { conditions: {}, effect: { violationType: 'Any', severity: 'Low' } },
    { conditions: { action: 'Delete.*' }, effect: { violationType: 'Deleted', severity: 'High' } },
    {
      conditions: { payload: { detects: 'EmailAddress' } },
      effect: { violationType: 'SensitiveData', severity: 'High' },
    },
    {
      conditions: {},
      effect: {
        violationType: 'Serial',
        severity: 'Medium',
        threshold: { count: 1, window: 'PT1H', groupBy: 'payload.serial' },
      },
    },
  ],
};

const policiesOf = (
  policyType: SentPolicy['policyType'],
  effect: fc.Arbitrary<RuleEffect>,
  size: { readonly minLength: number; readonly maxLength: number },
) =>
  fc
    .array(
      fc.record({
        priority: fc.constantFrom(1, 100),
        rules: fc.array(fc.record({ conditions: anyCondition, effect }), { minLength: 2, maxLength: 3 }),
      }),
      size,
    )
    .map((all) =>
      all.map((policy, i): SentPolicy => ({ name: `${policyType} ${i}`, policyType, ...policy })),
    );

export const anyWorlds: fc.Arbitrary<Worlds> = fc
  .record({
    access: fc.oneof(
      { weight: 1, arbitrary: fc.constant([]) },
      { weight: 5, arbitrary: policiesOf('Access', accessEffect, { minLength: 1, maxLength: 2 }) },
    ),
    classifying: policiesOf('Classification', classifyingEffect, { minLength: 0, maxLength: 2 }),
    holds,
    retaining: policiesOf('Retention', retainingEffect, { minLength: 0, maxLength: 2 }),
    reader: fc.record({
      roles: fc.subarray([...ROLES], { minLength: 1, maxLength: 2 }),
      clearance: fc.constantFrom<Classification>('Public', 'Internal', 'Internal', 'Confidential', 'Secret'),
    }),
    drawn: fc.array(fc.array(event, { minLength: OTHERS + 1, maxLength: OTHERS + 1 }), {
      minLength: EVENTS,
      maxLength: EVENTS,
    }),
  })
  .map(({ access, classifying, retaining, holds: placed, reader, drawn }) => {
    const policies = [...access, ...classifying, ...retaining, ALERTS];
    const pairs = drawn.map((all, i) => pairOf(all, i, policies, reader));
    return {
      policies,
      holds: placed,
      reader,
      one: pairs.map(([one]) => one),
      other: pairs.map(([, other]) => other),
    };
  });

/** The first of these, and what the others can change in it without the reader's notice. */
function pairOf(
  [first, ...others]: readonly Omit<SentEvent, 'eventId'>[],
  at: number,
  policies: readonly SentPolicy[],
  reader: Reader,
): [SentEvent, SentEvent] {
  const eventId = `01KE00000000000000000000${String(at).padStart(2, '0')}`;
  const one = withSerial({ eventId, ...first! }, `s${at}`);
  const seen = plainlySeen(one, policies, reader);
  let other = one;
  const changes = others.flatMap((from, k) =>
    changesBy(withSerial({ eventId, ...from }, `t${at}${k}`), k < MEMBERS_FROM),
  );
  for (const change of changes) {
    const changed = change(other);
    if (isDeepStrictEqual(plainlySeen(changed, policies, reader), seen)) other = changed;
  }
  return [one, other];
}

function withSerial(event: SentEvent, serial: string): SentEvent {
  return event.payload === undefined ? event : { ...event, payload: { ...event.payload, serial } };
}

type Change = (event: SentEvent) => SentEvent;

/** What of an event may be as it is in another one: all, its content, or single members. */
function changesBy(from: SentEvent, isByMember: boolean): Change[] {
  const members = (isByMember ? MEMBERS : []).map(([root, member]): Change => {
    const value = from[root]?.[member];
    return (event) => {
      if (event[root] === undefined) return event;
      const { [member]: _, ...rest } = event[root];
      return { ...event, [root]: value === undefined ? rest : { ...rest, [member]: value } };
    };
  });
  return [() => from, (event) => ({ ...factsOf(event), ...contentOf(from) }), ...members];
}

const MEMBERS: readonly (readonly ['payload' | 'context' | 'actor' | 'resource', string])[] = [
  ...['note', 'amount', 'person', 'list', 'gold', 'serial'].map((member) => ['payload', member] as const),
  ...['team', 'ip'].map((member) => ['context', member] as const),
  ...['userName', 'serviceName'].map((member) => ['actor', member] as const),
  ['resource', 'resourceName'],
];

function factsOf(event: SentEvent): SentEvent {
  const { context: _, payload: __, ...facts } = event;
  return facts;
}

function contentOf({ context, payload }: SentEvent): Pick<SentEvent, 'context' | 'payload'> {
  return { ...(context && { context }), ...(payload && { payload }) };
}
