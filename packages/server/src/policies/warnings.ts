// What is odd about a policy that is sound: a rule that can never match, one that never decides because another always does, two
// that contradict each other. Each names the rule, and the other one.

import {
  ACTOR_TYPES,
  type Classification,
  type Duration,
  type ErrorDetail,
  EVENT_OUTCOMES,
  type PolicyConfiguration,
  type RuleConfiguration,
} from '@tallystick/contract';
import { canonicalJson } from '@tallystick/evidence';
import { expiryAfter } from '../runtime/expiry.ts';
import type { pausesBy } from '../runtime/pause.ts';
import { type Condition, conditionsOf } from './condition.ts';
import { isAtLeast } from '../access/roles.ts';
import { valueTest } from './value-test.ts';

/** Of a sound policy. Very many rules take long to read and to compare, so `pause` is called between any two. */
export async function warningsOf(
  { policyType, rules = [] }: PolicyConfiguration,
  pause: Pause,
): Promise<ErrorDetail[]> {
  const enabled = (await readRules(rules, pause)).filter(({ rule }) => rule.enabled ?? true);
  const warnings: ErrorDetail[] = [];
  for (const each of enabled) {
    await pause();
    const never = neverHolds(each.tests);
    if (never !== undefined) warnings.push({ field: `${each.at}.conditions`, issue: never });
  }
  // Each Alert rule raises its own violations, so none makes another superfluous.
  if (policyType === 'Alert') return warnings;
  for (const [i, each] of enabled.entries())
    for (const [j, other] of enabled.entries()) {
      if (i === j) continue;
      // A promise for each of very many pairs would take longer than comparing them.
      const pausing = pause();
      if (pausing !== undefined) await pausing;
      const issue = oddBeside(policyType, each, other, j < i);
      if (issue === undefined) continue;
      if (warnings.length >= WARNINGS_MAX) return warnings;
      warnings.push({ field: each.at, issue });
    }
  return warnings;
}

/** What is odd about a rule beside another one. Effects come first: they are compared in less time than conditions. */
function oddBeside(
  type: PolicyConfiguration['policyType'],
  each: ReadRule,
  other: ReadRule,
  isOtherFirst: boolean,
): string | undefined {
  const opposed = isOtherFirst ? opposedRoles(type, each, other) : [];
  const decidesNothing = decidesNoLess(type, other, each);
  if ((opposed.length === 0 && !decidesNothing) || !isWider(other, each)) return undefined;
  if (opposed.length > 0 && isWider(each, other))
    return `contradicts ${nameOf(other)} for ${opposed.join(', ')}: one allows what the other denies, and deny wins`;
  // Of two that are the same, the second is named.
  const isToldOfOther = !isOtherFirst && decidesNoLess(type, each, other) && isWider(each, other);
  if (!decidesNothing || isToldOfOther) return undefined;
  return `never decides: ${nameOf(other)} matches all that it matches, and decides no less`;
}

type Pause = ReturnType<typeof pausesBy>;

interface ReadRule {
  readonly rule: RuleConfiguration;
  readonly at: string;
  readonly tests: readonly Condition[];
  /** Their texts, the rarest among all rules first: most pairs of rules differ in that one. */
  readonly written: ReadonlySet<string>;
  readonly byText: ReadonlyMap<string, Condition>;
  /** How long a Retention rule keeps. */
  readonly keepsMs: number;
  /** Of all rules of the policy together. */
  readonly looks: Looks;
}

/** How many more conditions, and values of theirs, are compared: of very many rules only those are told that are written alike. */
interface Looks {
  left: number;
}

const LOOKS_MAX = 200_000;

const WARNINGS_MAX = 100;

async function readRules(rules: readonly RuleConfiguration[], pause: Pause): Promise<ReadRule[]> {
  const looks: Looks = { left: LOOKS_MAX };
  const counts = new Map<string, number>();
  const written: [Condition, string][][] = [];
  for (const rule of rules) {
    await pause();
    const texts = conditionsOf(rule).map((test): [Condition, string] => [test, canonicalJson(test)]);
    for (const [, text] of texts) counts.set(text, (counts.get(text) ?? 0) + 1);
    written.push(texts);
  }
  const read: ReadRule[] = [];
  for (const [i, rule] of rules.entries()) {
    await pause();
    const rarestFirst = written[i]!.toSorted(([, a], [, b]) => counts.get(a)! - counts.get(b)!);
    read.push({
      rule,
      at: `rules[${i}]`,
      tests: written[i]!.map(([test]) => test),
      written: new Set(rarestFirst.map(([, text]) => text)),
      byText: new Map(rarestFirst.map(([test, text]) => [text, test])),
      keepsMs: lengthOf(rule.effect.retentionPeriod),
      looks,
    });
  }
  return read;
}

/** All values of facts that have few. */
const KNOWN_VALUES: Readonly<Record<string, ReadonlySet<unknown>>> = {
  outcome: new Set(EVENT_OUTCOMES),
  'actor.actorType': new Set(ACTOR_TYPES),
};

/** Why no event can satisfy all of them; undefined where one may. */
function neverHolds(tests: readonly Condition[]): string | undefined {
  for (const same of Map.groupBy(tests, ({ path }) => JSON.stringify(path)).values()) {
    // A different element may satisfy each of them.
    if (same[0]!.path.includes(null)) continue;
    const demanded = same.find(
      ({ test, isNegated }) => test.kind === 'OneOf' && !isNegated && test.prefixes.length === 0,
    );
    const values = demanded?.test.kind === 'OneOf' ? demanded.test.values : undefined;
    const passing = same.map(({ test, isNegated }) => ({ passes: valueTest(test), isNegated }));
    const isPossible = (value: unknown) =>
      passing.every(({ passes, isNegated }) => passes(value) !== isNegated);
    const known = KNOWN_VALUES[writtenPath(same[0]!)];
    if (values !== undefined && known !== undefined && !values.some((value) => known.has(value)))
      return `can never hold: ${writtenPath(same[0]!)} is one of ${[...known].join(', ')}`;
    if (values !== undefined && !values.some(isPossible))
      return `can never hold: no value at ${writtenPath(same[0]!)} satisfies all that is asked of it`;
    const isAbsent = same.some(({ test, isNegated }) => test.kind === 'Present' && isNegated);
    if (isAbsent && same.some(({ isNegated }) => !isNegated))
      return `can never hold: ${writtenPath(same[0]!)} must be there and not be there`;
    if (isEmptyRange(same))
      return `can never hold: no value at ${writtenPath(same[0]!)} lies within the bounds that are asked for`;
  }
  return undefined;
}

/** Bounds of one kind between which there is nothing. */
function isEmptyRange(tests: readonly Condition[]): boolean {
  const bounds = tests.flatMap(({ test, isNegated }) => (test.kind === 'Order' && !isNegated ? [test] : []));
  const lower = bounds.filter(({ operator }) => operator.startsWith('g'));
  const upper = bounds.filter(({ operator }) => operator.startsWith('l'));
  return lower.some((from) =>
    upper.some((to) => {
      if (typeof from.than !== typeof to.than) return true;
      if (from.than === to.than) return from.operator === 'gt' || to.operator === 'lt';
      return typeof from.than === 'number' && from.than > (to.than as number);
    }),
  );
}

/** Whether each condition of the one is a condition of the other, or follows from one. */
function isWider(wide: ReadRule, narrow: ReadRule): boolean {
  for (const text of wide.written) {
    if (narrow.written.has(text)) continue;
    const { looks } = wide;
    const condition = wide.byText.get(text)!;
    if (looks.left <= 0 || !narrow.tests.some((each) => follows(condition, each, looks))) return false;
  }
  return true;
}

/** Whether every event that satisfies `narrow` satisfies `wide`, as far as that is seen from values, prefixes and bounds. */
function follows(wide: Condition, narrow: Condition, looks: Looks): boolean {
  if (looks.left-- <= 0) return false;
  if (wide.isNegated || narrow.isNegated || narrow.path.length !== wide.path.length) return false;
  if (!narrow.path.every((step, i) => step === wide.path[i])) return false;
  if (wide.test.kind === 'Present') return true;
  looks.left -= sizeOf(narrow.test) + sizeOf(wide.test);
  if (narrow.test.kind === 'OneOf') return areAllWithin(narrow.test, wide.test);
  if (wide.test.kind === 'OneOf') return false;
  return isBoundWithin(narrow.test, wide.test);
}

type Test = Condition['test'];

function sizeOf(test: Test): number {
  return test.kind === 'OneOf' ? test.values.length + test.prefixes.length : 1;
}

function areAllWithin({ values, prefixes }: Extract<Test, { kind: 'OneOf' }>, wide: Test): boolean {
  const passes = valueTest(wide);
  if (!values.every((value) => passes(value))) return false;
  if (prefixes.length === 0) return true;
  const wider = wide.kind === 'OneOf' ? wide.prefixes : wide.kind === 'StartsWith' ? [wide.text] : [];
  const isWithin = valueTest({ kind: 'OneOf', values: [], prefixes: wider });
  return prefixes.every((prefix) => isWithin(prefix));
}

function isBoundWithin(narrow: Test, wide: Test): boolean {
  if (narrow.kind === 'StartsWith') return wide.kind === 'StartsWith' && narrow.text.startsWith(wide.text);
  if (narrow.kind !== 'Order' || wide.kind !== 'Order' || typeof narrow.than !== 'number') return false;
  if (typeof wide.than !== 'number' || narrow.operator[0] !== wide.operator[0]) return false;
  if (narrow.than === wide.than) return wide.operator.endsWith('e') || narrow.operator === wide.operator;
  return narrow.operator.startsWith('g') ? narrow.than > wide.than : narrow.than < wide.than;
}

/** Of an event that both match. */
function decidesNoLess(
  type: PolicyConfiguration['policyType'],
  { rule: { effect: strong }, keepsMs: strongMs }: ReadRule,
  { rule: { effect: weak }, keepsMs: weakMs }: ReadRule,
): boolean {
  switch (type) {
    case 'Classification':
      return (
        isAtLeast(strong.classification as Classification, weak.classification as Classification) &&
        (weak.redactFields ?? []).every((field) => strong.redactFields?.includes(field))
      );
    case 'Retention':
      return (strong.legalHold ?? false) >= (weak.legalHold ?? false) && strongMs >= weakMs;
    case 'Access':
      return strong.access === 'Deny' && (weak.roles ?? []).every((role) => strong.roles?.includes(role));
    case 'Alert':
      return false;
  }
}

function lengthOf(period: Duration | undefined): number {
  return period === undefined ? 0 : expiryAfter(0, period);
}

/** Of two Access rules that say the opposite: the roles that both are about. */
function opposedRoles(
  type: PolicyConfiguration['policyType'],
  { rule: { effect } }: ReadRule,
  { rule: { effect: other } }: ReadRule,
): string[] {
  if (type !== 'Access' || effect.access === other.access) return [];
  return (effect.roles ?? []).filter((role) => other.roles?.includes(role));
}

function nameOf({ at, rule }: ReadRule): string {
  return rule.name === undefined ? at : `${at} (${rule.name})`;
}

function writtenPath({ path }: Condition): string {
  return path.map((step) => (step === null ? '*' : step)).join('.');
}
