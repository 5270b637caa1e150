// Compiles conditions, once for each rule, to a function over the facts of an event. Cheap tests come first: those of facts before
// those of content, and detectors last. Content is parsed only where the facts have not decided yet.

import type { Detector } from '@tallystick/contract';
import type { PathStep, QueryStep } from '../query/field-path.ts';
import type { Condition } from './condition.ts';
import {
  type ConditionPath,
  type ConditionRoot,
  type ContentRoot,
  isContentRoot,
  isTextRoot,
} from './condition-path.ts';
import { detectedPaths } from './detectors.ts';
import type { EventFacts } from './event-facts.ts';
import { valueTest } from './value-test.ts';

/** Whether all of them hold for an event. */
export type HoldsFor = (facts: EventFacts) => boolean;

type Content = ReturnType<EventFacts['content']>;
type Test<Of> = (of: Of) => boolean;

export function compileConditions(conditions: readonly Condition[]): HoldsFor {
  const inOrder = conditions.toSorted((a, b) => costOf(a) - costOf(b));
  const ofFacts = allOf(inOrder.filter((each) => !isOfContent(each)).map(factTest));
  const contentTests = inOrder.filter(isOfContent).map(contentTest);
  if (contentTests.length === 0) return ofFacts;
  const ofContent = allOf(contentTests);
  return (facts) => ofFacts(facts) && ofContent(facts.content());
}

/** The value at a path that leads to one. */
export function valueAt(facts: EventFacts, [root, ...below]: readonly PathStep[]): unknown {
  return below.reduce<unknown>(stepInto, rootOf(facts, root as ConditionRoot));
}

export function rootOf(facts: EventFacts, root: ConditionRoot): unknown {
  return isContentRoot(root) ? facts.content()[root] : facts[root];
}

function isOfContent({ path: [root] }: Condition): boolean {
  return isContentRoot(root);
}

/** Only ranks: what is cheaper, or more often decides, comes first. */
function costOf({ path, test }: Condition): number {
  const ofPath = isTextRoot(path[0]) ? 0 : isContentRoot(path[0]) ? 20 : 2;
  const ofLists = path.includes(null) ? 10 : 0;
  const ofTest = { Present: 0, OneOf: 0, Order: 1, StartsWith: 1, Contains: 3, Detects: 100 }[test.kind];
  return ofPath + ofLists + ofTest;
}

/** Without a loop for those that most rules have. */
function allOf<Of>(tests: readonly Test<Of>[]): Test<Of> {
  const [first, second, third] = tests;
  if (first === undefined) return () => true;
  if (second === undefined) return first;
  if (third === undefined) return (of) => first(of) && second(of);
  if (tests.length === 3) return (of) => first(of) && second(of) && third(of);
  return (of) => tests.every((test) => test(of));
}

function factTest({ path, isNegated, test }: Condition): Test<EventFacts> {
  const [root, ...below] = path;
  const passes = valueTest(test);
  const holds = isNegated ? (value: unknown) => !passes(value) : passes;
  switch (root) {
    case 'action':
      return ({ action }) => holds(action);
    case 'classification':
      return ({ classification }) => holds(classification);
    case 'outcome':
      return ({ outcome }) => holds(outcome);
    case 'correlationId':
      return ({ correlationId }) => holds(correlationId);
    case 'actor': {
      const isTrue = pathTest(below, passes, isNegated);
      return ({ actor }) => isTrue(actor);
    }
    case 'resource': {
      const isTrue = pathTest(below, passes, isNegated);
      return ({ resource }) => isTrue(resource);
    }
    case 'context':
    case 'payload':
      throw new TypeError(`${root} is no fact`);
  }
}

function contentTest({ path: [root, ...below], isNegated, test }: Condition): Test<Content> {
  const isTrue = pathTest(below, valueTest(test), isNegated);
  return root === 'payload' ? ({ payload }) => isTrue(payload) : ({ context }) => isTrue(context);
}

/** Of the value at the root: whether the path leads to one that passes, or where `isNegated`, to none. */
function pathTest(below: readonly QueryStep[], passes: Test<unknown>, isNegated: boolean): Test<unknown> {
  const reaches = reachTest(below, passes);
  return isNegated ? (value) => !reaches(value) : reaches;
}

function reachTest(below: readonly QueryStep[], passes: Test<unknown>): Test<unknown> {
  if (below.includes(null)) return (value) => reachesAny(value, below, 0, passes);
  const [only] = below;
  if (typeof only === 'string' && below.length === 1) return (value) => passes(memberOf(value, only));
  return (value) => {
    let at = value;
    for (let i = 0; i < below.length && at !== undefined; i++) at = stepInto(at, below[i]!);
    return passes(at);
  };
}

/** Each `[*]` goes through the elements of one list, so no value is met twice. */
function reachesAny(
  value: unknown,
  below: readonly QueryStep[],
  from: number,
  passes: Test<unknown>,
): boolean {
  let at = value;
  for (let i = from; i < below.length && at !== undefined; i++) {
    const step = below[i]!;
    if (step === null) return Array.isArray(at) && at.some((item) => reachesAny(item, below, i + 1, passes));
    at = stepInto(at, step);
  }
  return passes(at);
}

/** The value below another one; undefined if there is none. */
export function stepInto(value: unknown, step: PathStep): unknown {
  if (typeof step === 'string') return memberOf(value, step);
  return Array.isArray(value) ? (value as unknown[])[step] : undefined;
}

/** Its own alone: `__proto__`, `toString` and the `length` of a list are no members. */
function memberOf(value: unknown, key: string): unknown {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return undefined;
  return Object.hasOwn(value, key) ? (value as Record<string, unknown>)[key] : undefined;
}

/** Where an event has what their detectors look for: paths, `max` at most, and no values. */
export function detectedIn(
  conditions: readonly Condition[],
  facts: EventFacts,
  max: number,
): readonly string[] {
  const found = new Set<string>();
  for (const { path, test } of conditions) {
    if (test.kind !== 'Detects' || !isContentPath(path)) continue;
    const [root, ...below] = path;
    for (const each of pathsBelow(facts.content()[root], below, [root], test.detector, max)) found.add(each);
  }
  return [...found].slice(0, max);
}

function isContentPath(path: ConditionPath): path is readonly [ContentRoot, ...QueryStep[]] {
  return isContentRoot(path[0]);
}

function pathsBelow(
  value: unknown,
  [step, ...below]: readonly QueryStep[],
  at: readonly PathStep[],
  detector: Detector,
  max: number,
): string[] {
  if (step === undefined) return detectedPaths(detector, value, at, max);
  if (step !== null) return pathsBelow(stepInto(value, step), below, [...at, step], detector, max);
  const items: readonly unknown[] = Array.isArray(value) ? value : [];
  const found: string[] = [];
  for (let i = 0; i < items.length && found.length < max; i++)
    found.push(...pathsBelow(items[i], below, [...at, i], detector, max - found.length));
  return found;
}
