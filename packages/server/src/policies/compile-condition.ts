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

type Test<Of> = (of: Of) => boolean;

export function compileConditions(conditions: readonly Condition[]): HoldsFor {
  const inOrder = conditions.toSorted((a, b) => costOf(a) - costOf(b));
  return allOf(inOrder.map(conditionTest));
}

function conditionTest(condition: Condition): Test<EventFacts> {
  const read = readerOf(condition.path);
  const holds = readTest(condition);
  return (facts) => holds(read(facts));
}

/** What the path leads to: a value, undefined if there is none. Where it has a `[*]`, it is the list of all that are there. */
export function readerOf([root, ...below]: ConditionPath): (facts: EventFacts) => unknown {
  const ofRoot = rootReader(root);
  if (below.includes(null)) return (facts) => reached(ofRoot(facts), below);
  const [only] = below;
  if (only === undefined) return ofRoot;
  if (typeof only === 'string' && below.length === 1) return memberReader(root, only);
  // Without a `[*]`, all are steps to one value.
  return (facts) => (below as readonly PathStep[]).reduce<unknown>(stepInto, ofRoot(facts));
}

function memberReader(root: ConditionRoot, name: string): (facts: EventFacts) => unknown {
  const ofRoot = rootReader(root);
  if (root !== 'actor' && root !== 'resource') return (facts) => memberOf(ofRoot(facts), name);
  return (facts) => (facts.member === undefined ? memberOf(ofRoot(facts), name) : facts.member(root, name));
}

/** Whether the condition holds of what `readerOf` has read at its path. */
export function readTest({ path, isNegated, test }: Condition): Test<unknown> {
  const passes = valueTest(test);
  const reaches = path.includes(null) ? (read: unknown) => (read as unknown[]).some(passes) : passes;
  return isNegated ? (read) => !reaches(read) : reaches;
}

/** The value at a path that leads to one. */
export function valueAt(facts: EventFacts, [root, ...below]: readonly PathStep[]): unknown {
  return below.reduce<unknown>(stepInto, rootOf(facts, root as ConditionRoot));
}

export function rootOf(facts: EventFacts, root: ConditionRoot): unknown {
  return isContentRoot(root) ? facts.content()[root] : facts[root];
}

/** Only ranks: what is cheaper, or more often decides, comes first. */
export function costOf({ path, test }: Condition): number {
  const ofPath = isTextRoot(path[0]) ? 0 : isContentRoot(path[0]) ? 20 : 2;
  const ofLists = path.includes(null) ? 10 : 0;
  const ofTest = { Present: 0, OneOf: 0, Order: 1, StartsWith: 1, Contains: 3, Detects: 100 }[test.kind];
  return ofPath + ofLists + ofTest;
}

/** Without a loop for those that most rules have. */
export function allOf<Of>(tests: readonly Test<Of>[]): Test<Of> {
  const [first, second, third] = tests;
  if (first === undefined) return () => true;
  if (second === undefined) return first;
  if (third === undefined) return (of) => first(of) && second(of);
  if (tests.length === 3) return (of) => first(of) && second(of) && third(of);
  return (of) => tests.every((test) => test(of));
}

/** By their names, which is faster than by a key. */
function rootReader(root: ConditionRoot): (facts: EventFacts) => unknown {
  switch (root) {
    case 'action':
      return ({ action }) => action;
    case 'classification':
      return ({ classification }) => classification;
    case 'outcome':
      return ({ outcome }) => outcome;
    case 'correlationId':
      return ({ correlationId }) => correlationId;
    case 'actor':
      return ({ actor }) => actor;
    case 'resource':
      return ({ resource }) => resource;
    case 'context':
      return (facts) => facts.content().context;
    case 'payload':
      return (facts) => facts.content().payload;
  }
}

/** Each `[*]` goes through the elements of one list, so no value is met twice. */
function reached(value: unknown, below: readonly QueryStep[], from = 0): unknown[] {
  let at = value;
  for (let i = from; i < below.length && at !== undefined; i++) {
    const step = below[i]!;
    if (step === null) return Array.isArray(at) ? at.flatMap((item) => reached(item, below, i + 1)) : [];
    at = stepInto(at, step);
  }
  return at === undefined ? [] : [at];
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
