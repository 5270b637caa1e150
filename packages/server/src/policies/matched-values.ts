// Why a rule matches: of each condition the path in the event, and the value that is there.

import type { MatchedValue } from '@tallystick/contract';
import { formatPath, type PathStep, type QueryStep } from '../query/field-path.ts';
import { detectedIn, rootOf, stepInto } from './compile-condition.ts';
import type { Condition } from './condition.ts';
import type { EventFacts } from './event-facts.ts';
import { valueTest } from './value-test.ts';

const VALUES_MAX = 20;
const TEXT_LENGTH_MAX = 200;

/** `facts` are those that the reader sees. */
export function matchedValues(conditions: readonly Condition[], facts: EventFacts): MatchedValue[] {
  return conditions.flatMap((condition) => valuesOf(condition, facts)).slice(0, VALUES_MAX);
}

function valuesOf(condition: Condition, facts: EventFacts): MatchedValue[] {
  const { path, test, isNegated } = condition;
  // What a detector finds is not shown, not even to those who may see it.
  if (test.kind === 'Detects') return detectedIn([condition], facts, VALUES_MAX).map((field) => ({ field }));
  const [root, ...below] = path;
  const passes = valueTest(test);
  const found = firstAt(rootOf(facts, root), below, [root], (value) => isNegated !== passes(value));
  const field = formatPath(found?.path ?? path);
  const value = shortened(found?.value);
  return [value === undefined ? { field } : { field, value }];
}

interface FoundValue {
  readonly path: readonly PathStep[];
  readonly value: unknown;
}

function firstAt(
  value: unknown,
  [step, ...below]: readonly QueryStep[],
  at: readonly PathStep[],
  isIt: (value: unknown) => boolean,
): FoundValue | undefined {
  if (step === undefined) return isIt(value) ? { path: at, value } : undefined;
  if (step !== null) return firstAt(stepInto(value, step), below, [...at, step], isIt);
  if (!Array.isArray(value)) return undefined;
  for (const [i, item] of value.entries()) {
    const found = firstAt(item, below, [...at, i], isIt);
    if (found !== undefined) return found;
  }
  return undefined;
}

/** What is large is seen in the event itself. */
function shortened(value: unknown): unknown {
  if (typeof value === 'string') return value.slice(0, TEXT_LENGTH_MAX);
  return typeof value === 'object' && value !== null ? undefined : value;
}
