import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Actor, asJson, EventDraft, LIMITS, operationNamed, Resource } from '@tallystick/contract';
import { canonicalBytes, parseJson } from '@tallystick/evidence';
import * as fc from 'fast-check';
import { UnreadValue } from '../call.ts';
import type { EventFacts } from '../policies/event-facts.ts';
import { leanValue } from '../protocols/input/lean-body.ts';
import { textMembersOf } from '../protocols/input/text-members.ts';
import { queriedFacts } from '../query/queried-event.ts';
import { shownEvent } from '../query/testing/shown-event.ts';
import { EVENT, EVENT_ID } from '../testing/bound-operations.ts';
import { drawn } from '../testing/drawn-values.ts';
import { createTestValidateEvent, eventPlace, LATEST } from '../testing/test-validate-event.ts';
import { CORRELATION, TENANT, testCall } from '../testing/test-call.ts';
import { type Acceptance, acceptanceOf, draftsOf } from './draft.ts';
import type { Members } from './breaches.ts';
import { parsedFacts, PlainFacts, storedFacts } from './facts.ts';
import { isRefusal, type ParsedEvent } from './validate-event.ts';
import { createFindPlain, isPlain, type PlainEvent } from './plain-event.ts';
import { PlainTexts } from './plain-texts.ts';
import type { Content, EventFields } from './show.ts';

const BATCH = textMembersOf(operationNamed('events.ingestBatch'))!;
const UUID = '7d3f0c52-6a3e-4b51-9a0e-2f6b1f3c9d11';
const validateEvent = createTestValidateEvent();
const validateWithIdentity = createTestValidateEvent(true);
const ids = { nextId: () => EVENT_ID, uuid: () => UUID };

/** The events as they come out of a request; undefined where its text breaks a rule of JSON. */
function arrived(events: readonly unknown[]): UnreadValue[] | undefined {
  const body = Buffer.from(JSON.stringify({ events }));
  const canonical = canonicalBytes(body, { depthMax: 34, outlineLevels: BATCH.levels });
  return canonical && (leanValue(canonical.outline, BATCH) as { events: UnreadValue[] }).events;
}

const findPlain = createFindPlain(false);
const findDemandingly = createFindPlain(true);
const plain = (event: unknown, requireActorIdentity = false) =>
  (requireActorIdentity ? findDemandingly : findPlain)(arrived([event])![0]!, LATEST);

const full = {
  ...EVENT,
  timestamp: '2026-01-31T23:59:59.123456789Z',
  actor: { actorType: 'Service', serviceId: 's', serviceName: 'é', userId: '\n', userName: 'u' },
  resource: { ...EVENT.resource, resourceName: '"' },
  context: { ip: '::1' },
  payload: {},
  correlationId: UUID.toUpperCase(),
  outcome: 'Denied',
  classification: 'Secret',
  eventId: EVENT_ID,
  tenantId: 'acme',
};

test('common events are plain, with all members or with the fewest', () => {
  assert.ok(plain(full));
  assert.ok(plain(EVENT));
  assert.ok(plain({ ...EVENT, timestamp: '2024-02-29T00:00:00Z' }));
});

test('what needs a closer look is not decided', () => {
  const table: object[] = [
    { eventId: EVENT_ID.toLowerCase() },
    { tenantId: 5 },
    { payload: null },
    { timestamp: '2026-01-02T04:04:05+01:00' },
    { timestamp: LATEST },
    { actor: { actorType: 'User', userId: 'x'.repeat(LIMITS.identityLengthMax + 1) } },
  ];
  for (const odd of table) assert.equal(plain({ ...EVENT, ...odd }), undefined, JSON.stringify(odd));
});

test('every member of the contract is looked at, so that a new one is never passed over', () => {
  const known = Object.keys(full).toSorted();
  assert.deepEqual(Object.keys(asJson(EventDraft).properties ?? {}).toSorted(), known);
});

test('an actor without an identity is not plain where one is demanded', () => {
  const table: [actor: object, isPlain: boolean][] = [
    [{ actorType: 'User' }, false],
    [{ actorType: 'User', serviceId: 's' }, false],
    [{ actorType: 'User', userName: 'u' }, true],
    [{ actorType: 'Service', userId: 'u' }, false],
    [{ actorType: 'Service', serviceName: 's' }, true],
    [{ actorType: 'System' }, true],
  ];
  for (const [actor, isPlain] of table) {
    assert.equal(plain({ ...EVENT, actor }, true) !== undefined, isPlain, JSON.stringify(actor));
  }
});

// Around every limit: each value is sound, or fails by a little.
const ABSENT = Symbol('absent');
const ODD: readonly unknown[] = [ABSENT, null, 5, true, [], {}, 'x', ['x'], { actorType: 'User' }];
const around = (max: number) =>
  ['', 'x', 'é'.repeat(max), 'x'.repeat(max), 'x'.repeat(max + 1), '😀'.repeat(max), '"\\\n'] as const;
const dates = ['2026', '2024', '0000', '9999', '202'].flatMap((year) =>
  ['00', '01', '02', '04', '12', '13'].flatMap((month) =>
    ['00', '01', '28', '29', '30', '31', '32'].map((day) => `${year}-${month}-${day}`),
  ),
);
const clocks = ['T00:00:00', 'T23:59:59', 'T24:00:00', 't03:04:05', 'T03:60:05', 'T03:04:60', ' 03:04:05'];
const fractions = ['', '.', '.5', '.123456789', '.1234567890', '.1e5', '.-1', ',5'];
const times = [
  ...dates.map((date) => `${date}T03:04:05.678Z`),
  ...[...clocks, 'T03:04', 'T3:04:05'].flatMap((clock) =>
    fractions.flatMap((fraction) =>
      ['Z', 'z', '+00:00', '-01:00', '', 'ZZ'].map((zone) => `2026-01-02${clock}${fraction}${zone}`),
    ),
  ),
  LATEST,
  '2026-05-31T23:59:59.999999999Z',
  '2026-06-01T00:00:00Z',
  '2027-01-01T00:00:00Z',
];
const actions = ['A.b', 'a', '.ab', 'ab.', '..', 'a.b.c', 'a.b1', 'a@b', 'a[.b', 'é.b', 'a.b\n'];
const uuids = [UUID, UUID.toUpperCase(), UUID.replace('-', '0'), `${UUID}0`, UUID.replace('7', 'g')];
const contents = [
  { a: { b: [1] } },
  { t: 'x'.repeat(65_528) },
  { t: 'x'.repeat(65_529) },
  { t: '€'.repeat(21_843) },
];
const identities = around(LIMITS.identityLengthMax);

type Replacement = readonly [path: readonly [string, string?], value: unknown];
const REPLACEMENTS: readonly Replacement[] = (
  [
    [['timestamp'], times],
    [['action'], [...actions, `a.${'b'.repeat(98)}`, `a.${'b'.repeat(99)}`]],
    [['actor'], []],
    [
      ['actor', 'actorType'],
      ['User', 'Service', 'System', 'system', 'Systems'],
    ],
    [['actor', 'userId'], identities],
    [['actor', 'userName'], around(LIMITS.userNameLengthMax)],
    [['actor', 'serviceId'], identities],
    [['actor', 'serviceName'], identities],
    [['actor', 'zeal'], []],
    [['resource'], []],
    [['resource', 'resourceType'], identities],
    [['resource', 'resourceId'], identities],
    [['resource', 'resourceName'], identities],
    [['resource', 'a'], []],
    [['context'], contents],
    [['payload'], contents],
    [['correlationId'], uuids],
    [['eventId'], [EVENT_ID, EVENT_ID.toLowerCase(), `8${EVENT_ID.slice(1)}`, `${EVENT_ID}0`]],
    [['tenantId'], ['acme', '']],
    [['outcome'], ['Success', 'Failure', 'Denied', 'success']],
    [['classification'], ['Public', 'Internal', 'Confidential', 'Secret', 'Secre']],
    [['a'], []],
    [['b'], []],
    [['zeal'], []],
  ] as const
).flatMap(([path, values]) => [...values, ...ODD].map((value): Replacement => [path, value]));

function replaced(event: Members, replacements: readonly Replacement[]): Members {
  const copy: Record<string, unknown> = structuredClone(event);
  for (const [[name, inner], value] of replacements) {
    const parent = inner === undefined ? copy : copy[name];
    if (typeof parent !== 'object' || parent === null) continue;
    if (value === ABSENT) delete (parent as Record<string, unknown>)[inner ?? name];
    else (parent as Record<string, unknown>)[inner ?? name] = structuredClone(value);
  }
  return copy;
}

/** Whether it was plain; then it must be sound, and the same in the end. */
function agrees(event: Members, requireActorIdentity: boolean): boolean {
  const [item] = arrived([event]) ?? [];
  const found = item && (requireActorIdentity ? findDemandingly : findPlain)(item, LATEST);
  if (found === undefined) return false;
  const validated = (requireActorIdentity ? validateWithIdentity : validateEvent)(
    event,
    eventPlace(),
    LATEST,
  );
  assert.ok(!isRefusal(validated), JSON.stringify(validated));
  const correlation = { ...CORRELATION, correlationId: 'order-42', correlationIsGiven: true };
  for (const call of [testCall(), testCall({ correlation })]) {
    const acceptance = acceptanceOf(call, TENANT, 0);
    assert.deepEqual(textsOf([found], acceptance), textsOf([validated], acceptance));
  }
  assertSameFacts(found, validated);
  return true;
}

/** To rules an event is the same, be it unread, read or stored. */
function assertSameFacts(found: PlainEvent, validated: ParsedEvent | PlainEvent): void {
  assert.ok(!isPlain(validated));
  const acceptance = acceptanceOf(testCall(), TENANT, 0);
  const undecided = allOf(parsedFacts(validated, acceptance.correlationId));
  const plain = new PlainFacts(found, acceptance.correlationId);
  assert.deepEqual(allOf(plain), undecided);
  for (const name of FACT_NAMES) {
    assert.equal(plain.member('actor', name), ownMember(undecided.actor, name));
    assert.equal(plain.member('resource', name), ownMember(undecided.resource, name));
  }
  const [{ texts } = assert.fail()] = textsOf([found], acceptance);
  const said = parseJson(texts[0]!) as EventFields;
  const facts = { ...undecided, classification: said.classification };
  assert.deepEqual(allOf(storedFacts(said, texts[1]!)), facts);
  const { context: _, payload: __, ...shown } = shownEvent(said);
  const queried = { ...shown, ...(parseJson(texts[1]!) as Content) };
  assert.deepEqual(allOf(queriedFacts(queried)), facts);
}

/** Of actors and resources, and some that nothing has. */
const FACT_NAMES = [Actor, Resource]
  .flatMap((schema) => Object.keys(asJson(schema).properties ?? {}))
  .concat('', 'user', 'userIdx', '__proto__', 'constructor', 'resourceNäme');

function ownMember(members: object, name: string): unknown {
  return Object.entries(members).find(([key]) => key === name)?.[1];
}

function allOf(facts: EventFacts) {
  const { action, actor, resource, outcome, classification, correlationId } = facts;
  const content = facts.content();
  assert.equal(facts.action, action);
  assert.deepEqual(facts.content(), content);
  return { action, actor, resource, outcome, classification, correlationId, content };
}

test('with any one unusual member, a plain event is valid and has the same texts as when it is parsed', () => {
  let plainCount = 0;
  for (const event of [EVENT, full]) {
    for (const replacement of REPLACEMENTS)
      if (agrees(replaced(event, [replacement]), false)) plainCount += 1;
  }
  assert.ok(plainCount > 150, `only ${plainCount} were plain`);
});

test('so it is for several strange members', () => {
  let plainCount = 0;
  const replacements = fc.array(fc.constantFrom(...REPLACEMENTS), { minLength: 2, maxLength: 4 });
  fc.assert(
    fc.property(fc.constantFrom(EVENT, full), replacements, fc.boolean(), (event, strange, isDemanded) => {
      if (agrees(replaced(event, strange), isDemanded)) plainCount += 1;
    }),
    { numRuns: 1000, seed: 20260115 },
  );
  assert.ok(plainCount > 10, `only ${plainCount} were plain`);
});

const drawnEvent = drawn(asJson(EventDraft)) as fc.Arbitrary<Members>;

test('any event of the schema is plain, has the texts and the fingerprint that it has once it is read, and is not if it lacks a required member', () => {
  let plainCount = 0;
  fc.assert(
    fc.property(drawnEvent, fc.constantFrom(...asJson(EventDraft).required!), (event, name) => {
      if (agrees(event, false)) plainCount += 1;
      assert.equal(agrees(replaced(event, [[[name], ABSENT]]), false), false);
    }),
    { numRuns: 500, seed: 20260117 },
  );
  assert.ok(plainCount > 400, `only ${plainCount} were plain`);
});

test('events of the schema with strange members are plain only where they are sound', () => {
  const strange = fc.array(fc.constantFrom(...REPLACEMENTS), { minLength: 1, maxLength: 3 });
  fc.assert(
    fc.property(drawnEvent, strange, fc.boolean(), (event, replacements, isDemanded) => {
      agrees(replaced(event, replacements), isDemanded);
    }),
    { numRuns: 500, seed: 20260117 },
  );
});

type Accepted = ParsedEvent | PlainEvent;

function textsOf(events: readonly Accepted[], acceptance: Acceptance) {
  const drafts = draftsOf(events, new PlainTexts(events, acceptance, ids.uuid), acceptance, ids);
  return drafts.map(({ texts, ...rest }) => ({
    ...rest,
    texts: texts.map((text) => Buffer.from(text).toString()),
  }));
}

test('plain events and others of one batch keep their order and their room', () => {
  const events = [full, { ...EVENT, payload: null }, EVENT, { ...full, payload: { t: 'é'.repeat(9000) } }];
  const items = arrived(events)!;
  const both = items.map((item) => {
    const validated = findPlain(item, LATEST) ?? validateEvent(item.read(), eventPlace(), LATEST);
    assert.ok(!isRefusal(validated));
    return validated;
  });
  const acceptance = acceptanceOf(testCall(), TENANT, 0);
  assert.deepEqual(
    textsOf(both, acceptance),
    both.flatMap((event) => textsOf([event], acceptance)),
  );
});
