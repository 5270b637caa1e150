import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Rule } from '@tallystick/contract';
import { canonicalJson } from '@tallystick/evidence';
import { USUAL_SETTINGS } from '../access/tenants.ts';
import { expiryAfter } from '../runtime/expiry.ts';
import type { StoredRecord } from '../records/records.ts';
import { deciderOf } from './decide.ts';
import { type DecidedEvent, DECIDED_BEFORE_MS, PastDecisions } from './past-decisions.ts';
import { contentOfPolicy, type PolicyRecord } from './policy.ts';
import { eventFacts, policyRecord } from './testing/policy-record.ts';

const START_MS = Date.UTC(2026, 3, 30, 12);
const DAY_MS = 86_400_000;

function retentionPolicy(version: number, ...periods: readonly string[]): PolicyRecord {
  const rules = periods.map((retentionPeriod, i) => ({
    ruleId: `rule-${i}`,
    enabled: true,
    conditions: {},
    effect: { retentionPeriod },
  }));
  return policyRecord({ policyType: 'Retention', version, rules: rules as unknown as Rule[] });
}

function recordOf(policy: PolicyRecord): StoredRecord {
  const { policyId: id, version, status } = policy;
  return {
    owner: 'acme',
    kind: 'Policy',
    id,
    version,
    body: JSON.stringify({ ...contentOfPolicy(policy), version }),
    state: status,
    uniqueName: undefined,
    lookup: undefined,
    salt: new Uint8Array(16),
    mac: new Uint8Array(32),
  };
}

const POLICY = { kind: 'Policy', id: 'policy' };

/** As the service stores it, when it is decided upon on another day than it is received. */
function eventAt(
  receivedAtMs: number,
  policies: readonly PolicyRecord[],
  decidedAtMs = receivedAtMs,
): DecidedEvent {
  const { action, actor, resource, outcome } = eventFacts();
  const made = deciderOf({ ...USUAL_SETTINGS, policies })(
    { ...eventFacts(), classification: undefined },
    decidedAtMs,
  );
  return {
    receivedAtMs,
    classification: made.classification,
    texts: [
      Buffer.from(canonicalJson({ action, actor, resource, outcome, correlationId: 'c' })),
      Buffer.from('{}'),
    ],
    isWhole: true,
    decidedBy: made.decidedBy,
    expiresAtMs: expiryAfter(receivedAtMs, made.retention),
  };
}

test('the usual settings decide where none are stored', () => {
  const past = new PastDecisions();
  const sound = eventAt(START_MS, []);
  assert.equal(past.judge(sound).status, 'Follows');
  for (const expiresAtMs of [undefined, sound.expiresAtMs! - 1, sound.expiresAtMs! + 1])
    assert.equal(past.judge({ ...sound, expiresAtMs }).status, 'Differs');
});

test('an event follows that very many policies have decided, also as it was stored before all were told', () => {
  const past = new PastDecisions();
  const policies = Array.from({ length: 25 }, (_, i) => ({
    ...retentionPolicy(1, 'P1Y'),
    policyId: `policy-${10 + i}`,
    name: `${i}`,
  }));
  for (const policy of policies) past.changed({ ...POLICY, id: policy.policyId }, recordOf(policy), START_MS);
  const event = eventAt(START_MS + 1000, policies);
  const { also, ...before } = JSON.parse(event.decidedBy!) as Record<string, unknown> & { also: string[] };
  assert.equal(also.length, 5);
  assert.equal(past.judge(event).status, 'Follows');
  assert.equal(past.judge({ ...event, decidedBy: canonicalJson(before) }).status, 'Follows');
  const other = canonicalJson({ ...before, also: also.slice(1) });
  assert.equal(past.judge({ ...event, decidedBy: other }).status, 'Differs');
});

test('a version of a policy decides from its notice on, and the one before it for a while longer', () => {
  const past = new PastDecisions();
  const [one, two] = [retentionPolicy(1, 'P1Y'), retentionPolicy(2, 'P2Y')];
  assert.equal(past.judge(eventAt(START_MS, [one])).status, 'Differs', 'before it was made');
  past.changed(POLICY, recordOf(one), START_MS);
  assert.equal(past.judge(eventAt(START_MS, [one])).status, 'Follows');
  assert.equal(past.judge(eventAt(START_MS, [two])).status, 'Differs', 'before it was changed');
  past.changed(POLICY, recordOf(two), START_MS);
  assert.equal(past.judge(eventAt(START_MS + 1, [two])).status, 'Follows');
  const late = START_MS + DECIDED_BEFORE_MS;
  assert.equal(past.judge(eventAt(late, [one])).status, 'Follows');
  assert.equal(past.judge(eventAt(late + 1, [one])).status, 'Differs', 'too late');
});

test('an event that a deleted policy has decided is one of before its deletion', () => {
  const past = new PastDecisions();
  const one = retentionPolicy(1, 'P1Y');
  past.changed(POLICY, recordOf(one), START_MS);
  past.changed(POLICY, recordOf({ ...one, version: 2, status: 'Deleted' }), START_MS);
  assert.equal(past.judge(eventAt(START_MS, [])).status, 'Follows');
  const late = START_MS + DECIDED_BEFORE_MS + 1;
  assert.equal(past.judge(eventAt(late, [])).status, 'Follows');
  assert.equal(past.judge(eventAt(late, [one])).status, 'Differs');
});

test('what has decided before a version that is not stored is not known, and neither right nor wrong', () => {
  const past = new PastDecisions();
  past.changed(POLICY, undefined, START_MS);
  assert.equal(past.judge(eventAt(START_MS, [retentionPolicy(1, 'P1Y')])).status, 'Unknown');
  const settings = new PastDecisions();
  settings.changed({ kind: 'Tenant', id: '' }, undefined, START_MS);
  const late = START_MS + DECIDED_BEFORE_MS + 1;
  assert.equal(settings.judge(eventAt(START_MS, [])).status, 'Follows', 'the settings before it are known');
  assert.equal(settings.judge({ ...eventAt(late, []), expiresAtMs: 7 }).status, 'Unknown');
});

test('the longest of a month and thirty days is that of the day of the request, which may lie long before', () => {
  const past = new PastDecisions();
  const both = retentionPolicy(1, 'P1M', 'P30D');
  past.changed(POLICY, recordOf(both), START_MS);
  const may = Date.UTC(2026, 4, 1);
  for (const decidedAtMs of [may, may - 1, may - 80 * DAY_MS])
    assert.equal(past.judge(eventAt(may, [both], decidedAtMs)).status, 'Follows', String(decidedAtMs));
  const sound = eventAt(may, [both]);
  assert.equal(past.judge({ ...sound, expiresAtMs: may + 30 * DAY_MS }).status, 'Differs');
});

test('of an event of which a part is deleted it is not known which rules it has matched, but they are rules that there were', () => {
  const past = new PastDecisions();
  const policy = retentionPolicy(1, 'P1Y');
  const conditions = { 'payload.note': { exists: true } };
  const asking = { ...policy, rules: policy.rules.map((rule) => ({ ...rule, conditions })) };
  past.changed(POLICY, recordOf(asking), START_MS);
  const punctured = { ...eventAt(START_MS, [policy]), isWhole: false };
  assert.equal(past.judge(punctured).status, 'Unknown');
  assert.equal(past.judge({ ...punctured, isWhole: true }).status, 'Differs', 'it never had such a note');
  assert.equal(past.judge({ ...eventAt(START_MS, []), isWhole: false }).status, 'Follows');
  for (const expiresAtMs of [undefined, punctured.expiresAtMs! + 1])
    assert.equal(past.judge({ ...punctured, expiresAtMs }).status, 'Differs');
  const decidedBy = punctured.decidedBy!.replace('"policyVersion":1', '"policyVersion":2');
  assert.equal(past.judge({ ...punctured, decidedBy }).status, 'Differs', 'of no version that was in force');
});

test('content may go when its expiry follows; what is not known keeps it for the longest that may have decided', () => {
  const past = new PastDecisions();
  const sound = eventAt(START_MS, []);
  const year = expiryAfter(START_MS, 'P1Y');
  assert.deepEqual(past.endOf(sound), { atMs: sound.expiresAtMs });
  assert.ok('why' in past.endOf({ ...sound, expiresAtMs: year }), 'moved');
  past.changed({ kind: 'Tenant', id: '' }, undefined, START_MS);
  const late = eventAt(START_MS + DECIDED_BEFORE_MS + 1, []);
  const end = past.endOf({ ...late, expiresAtMs: year });
  assert.ok('atMs' in end && end.atMs >= late.expiresAtMs!, 'no settings that are known keep it longer');
  assert.ok('atMs' in end && end.atMs < expiryAfter(late.receivedAtMs, 'P8Y'), 'and then it goes');
});

test('of a punctured event every rule counts that what is deleted may have matched', () => {
  const past = new PastDecisions();
  const [one, ten] = [retentionPolicy(1, 'P1Y'), retentionPolicy(1, 'P10Y')];
  const asking = (about: string): PolicyRecord => {
    const rules = ten.rules.map((rule) => ({ ...rule, conditions: { [about]: 'kept' } }));
    return { ...ten, policyId: 'asking', rules };
  };
  past.changed(POLICY, recordOf(one), START_MS);
  past.changed({ kind: 'Policy', id: 'asking' }, recordOf(asking('payload.note')), START_MS);
  const late = START_MS + DECIDED_BEFORE_MS + 1;
  const event = eventAt(late, [asking('payload.note'), one]);
  assert.deepEqual(past.endOf(event), { atMs: expiryAfter(late, 'P1Y') });
  assert.deepEqual(past.endOf({ ...event, isWhole: false }), { atMs: expiryAfter(late, 'P10Y') });
  past.changed({ kind: 'Policy', id: 'asking' }, recordOf(asking('action')), late);
  const later = late + DECIDED_BEFORE_MS + 1;
  const other = { ...eventAt(later, [asking('action'), one]), isWhole: false };
  assert.deepEqual(past.endOf(other), { atMs: expiryAfter(later, 'P1Y') }, 'an action is never deleted');
});

test('a punctured event goes by the version that has decided, also right after that has replaced another one', () => {
  const past = new PastDecisions();
  past.changed(POLICY, recordOf(retentionPolicy(1, 'P1Y')), START_MS);
  const event = { ...eventAt(START_MS + 1, [retentionPolicy(1, 'P1Y')]), isWhole: false };
  assert.deepEqual(past.endOf(event), { atMs: expiryAfter(START_MS + 1, 'P1Y') });
  const before = { ...eventAt(START_MS + 1, []), isWhole: false };
  assert.deepEqual(past.endOf(before), { atMs: before.expiresAtMs });
});

test('content stays where a version of a policy is missing: every one is kept, so it was taken away', () => {
  const past = new PastDecisions();
  past.changed(POLICY, undefined, START_MS);
  const late = eventAt(START_MS + DECIDED_BEFORE_MS + 1, []);
  assert.ok('why' in past.endOf({ ...late, expiresAtMs: START_MS }));
});

test('where no rule has a condition, no text is asked for; one that had one counts for as long as it may have decided', () => {
  const past = new PastDecisions();
  assert.equal(past.asksNothing(START_MS), true, 'the settings alone');
  past.changed(POLICY, recordOf(retentionPolicy(1, 'P30D', 'P1M')), START_MS);
  assert.equal(past.asksNothing(START_MS), true);
  const sound = eventAt(START_MS + 1, [retentionPolicy(1, 'P30D', 'P1M')]);
  const textless = { ...sound, texts: [Buffer.alloc(0), Buffer.alloc(0)] as const };
  for (const isWhole of [true, false])
    for (const expiresAtMs of [sound.expiresAtMs, sound.expiresAtMs! - 1, undefined])
      assert.deepEqual(
        past.endOf({ ...textless, isWhole, expiresAtMs }),
        past.endOf({ ...sound, isWhole, expiresAtMs }),
      );
  assert.deepEqual(past.endOf(textless), { atMs: sound.expiresAtMs });

  const asking = retentionPolicy(2, 'P1D');
  const rules = asking.rules.map((rule) => ({ ...rule, conditions: { action: 'Delete.Invoice' } }));
  past.changed(POLICY, recordOf({ ...asking, rules }), START_MS + DAY_MS);
  assert.equal(past.asksNothing(START_MS + DAY_MS), false);
  past.changed(POLICY, recordOf(retentionPolicy(3, 'P1D')), START_MS + 2 * DAY_MS);
  assert.equal(past.asksNothing(-Infinity), false);
  assert.equal(past.asksNothing(START_MS + 2 * DAY_MS + DECIDED_BEFORE_MS), false);
  assert.equal(past.asksNothing(START_MS + 2 * DAY_MS + DECIDED_BEFORE_MS + 1), true);
  for (const rules of [[{ ...asking.rules[0], conditions: 7 }], undefined]) {
    past.changed(POLICY, recordOf({ ...asking, rules } as unknown as PolicyRecord), START_MS + 3 * DAY_MS);
    assert.equal(past.asksNothing(START_MS + 4 * DAY_MS), false, 'one that cannot be read');
  }
  past.changed(POLICY, undefined, START_MS + 5 * DAY_MS);
  assert.equal(past.asksNothing(START_MS + 6 * DAY_MS), false, 'one that is not stored');
});

test('of more changes than are remembered it is not known which has decided', () => {
  const past = new PastDecisions();
  for (let version = 1; version <= 600; version++)
    past.changed(POLICY, recordOf(retentionPolicy(version, `P${version}D`)), START_MS);
  assert.equal(past.judge(eventAt(START_MS, [retentionPolicy(600, 'P600D')])).status, 'Follows');
  assert.equal(past.judge(eventAt(START_MS, [retentionPolicy(2, 'P2D')])).status, 'Unknown');
  past.changed(POLICY, recordOf(retentionPolicy(601, 'P601D')), START_MS + DECIDED_BEFORE_MS + 1);
  const late = START_MS + 2 * DECIDED_BEFORE_MS + 2;
  assert.equal(past.judge(eventAt(late, [retentionPolicy(2, 'P2D')])).status, 'Differs');
});

test('of large versions fewer are remembered', () => {
  const past = new PastDecisions();
  const large = (version: number) => {
    const policy = retentionPolicy(version, `P${version}D`);
    return { ...policy, description: 'x'.repeat(2_000_000) };
  };
  for (let version = 1; version <= 20; version++) past.changed(POLICY, recordOf(large(version)), START_MS);
  const statusOf = (version: number) =>
    past.judge(eventAt(START_MS, [retentionPolicy(version, `P${version}D`)])).status;
  assert.deepEqual([20, 18, 2].map(statusOf), ['Follows', 'Follows', 'Unknown']);
});

test('a hint of before there were policies is in no decision', () => {
  const past = new PastDecisions();
  const hinted = { ...eventAt(START_MS, []), classification: 'Secret' } as const;
  assert.equal(past.judge(hinted).status, 'Follows');
  assert.equal(past.judge({ ...hinted, classification: 'Public' }).status, 'Differs', 'no hint lowers');
  past.changed(POLICY, recordOf(retentionPolicy(1, 'P1Y')), START_MS);
  const late = START_MS + DECIDED_BEFORE_MS + 1;
  const policed = { ...eventAt(late, [retentionPolicy(1, 'P1Y')]), classification: 'Secret' } as const;
  assert.equal(past.judge(policed).status, 'Differs');
});

test('texts that no service has written are judged, and throw nothing', () => {
  const past = new PastDecisions();
  const conditions = { 'payload.a': { gt: 1 }, action: 'x' };
  const policy = retentionPolicy(1, 'P1Y');
  past.changed(
    POLICY,
    recordOf({ ...policy, rules: policy.rules.map((rule) => ({ ...rule, conditions })) }),
    START_MS,
  );
  const sound = eventAt(START_MS, []);
  for (const [one, two] of [
    ['{}', '{}'],
    ['[]', '[]'],
    ['7', 'null'],
    ['{"actor":[]}', '{"payload":{"a":[[]]}}'],
  ])
    for (const decidedBy of [
      undefined,
      '',
      '{',
      'null',
      '{"classification":[null],"retention":[]}',
      '{"hint":7}',
    ])
      past.judge({ ...sound, texts: [Buffer.from(one!), Buffer.from(two!)], decidedBy });
  past.changed(
    POLICY,
    { ...recordOf(policy), body: '{"rules":7,"state":"Active","policyType":"Retention"}' },
    START_MS,
  );
  assert.equal(past.judge({ ...sound, decidedBy: 'x' }).status, 'Differs');
  past.changed(POLICY, { ...recordOf(policy), body: 'null' }, START_MS);
  past.judge(sound);
});
