// Whether an event, as this reader sees it, is one that a query asks for: the plain definition, against which every
// index is tested.

import { factOf, ruleOf } from './fields.ts';
import { leadsTo } from './field-path.ts';
import { foldText } from './fold.ts';
import type { QueriedEvent } from './queried-event.ts';
import type { Comparison, ContentPath, Field, Query, Text, Value } from './query.ts';
import { numberIn } from './query-term.ts';
import { placesOf, type SeenValue, seenValues, wordedValues } from './seen-values.ts';
import { compareTimes } from './times.ts';
import { phraseOf } from './tokens.ts';

export function matches(query: Query, event: QueriedEvent): boolean {
  let all: readonly SeenValue[] | undefined;
  let worded: readonly SeenValue[] | undefined;
  return holds(query, event, {
    get all() {
      return (all ??= seenValues(event));
    },
    get worded() {
      return (worded ??= wordedValues(event));
    },
  });
}

/** Made when they are looked at. */
interface SeenValues {
  readonly all: readonly SeenValue[];
  readonly worded: readonly SeenValue[];
}

function holds(query: Query, event: QueriedEvent, values: SeenValues): boolean {
  switch (query.kind) {
    case 'And':
      return query.of.every((part) => holds(part, event, values));
    case 'Or':
      return query.of.some((part) => holds(part, event, values));
    case 'Not':
      return !holds(query.of, event, values);
    case 'Text':
      return hasWords(query, values);
    case 'Value':
      return hasValue(query, event, values);
    case 'Comparison':
      return compares(query, event, values);
    case 'Existence':
      return exists(query.field, event, values);
  }
}

/** Which values a term looks at. */
type IsLookedAt = (value: SeenValue) => boolean;

/** The words of a term side by side in one value. */
function hasWords(
  { text, prefix }: Text | Value,
  { worded }: SeenValues,
  isLookedAt: IsLookedAt = () => true,
): boolean {
  const phrase = phraseOf(text, prefix);
  return worded.some((value) => placesOf(phrase, value).length > 0 && isLookedAt(value));
}

function hasValue(term: Value, event: QueriedEvent, values: SeenValues): boolean {
  const { name, path } = term.field;
  if (path !== undefined) return isAmong(term, values, isAt(path));
  const { whole = [], words = [] } = ruleOf(name);
  return (
    whole.some((fact) => isWhole(factOf(event, fact), term)) ||
    hasWords(term, values, ({ fact }) => words.some((word) => word === fact))
  );
}

function isAt(path: ContentPath): IsLookedAt {
  return (value) => leadsTo(path, value.path);
}

/** A number is a number and not its digits, so 10 is not found in 10.5; with a `*` its digits are all there is. */
function isAmong(term: Value, values: SeenValues, isLookedAt: IsLookedAt): boolean {
  if (term.prefix) return hasWords(term, values, isLookedAt);
  const number = numberIn(term.text);
  const isNull = foldText(term.text) === 'null';
  const isSame = (value: unknown) => (isNull && value === null) || (number !== undefined && value === number);
  return (
    values.all.some((seen) => isSame(seen.value) && isLookedAt(seen)) ||
    hasWords(term, values, (seen) => typeof seen.value !== 'number' && isLookedAt(seen))
  );
}

function isWhole(fact: string | undefined, { text, prefix }: Value): boolean {
  if (fact === undefined) return false;
  const [folded, asked] = [foldText(fact), foldText(text)];
  return prefix ? folded.startsWith(asked) : folded === asked;
}

function compares({ field, operator, value }: Comparison, event: QueriedEvent, { all }: SeenValues): boolean {
  if (typeof value === 'string') {
    const time = field.name === undefined ? undefined : ruleOf(field.name).time;
    return time !== undefined && isInOrder(compareTimes(event[time], value), operator);
  }
  if (field.path === undefined) return false;
  const isLookedAt = isAt(field.path);
  const isThere = (found: unknown) => typeof found === 'number' && isInOrder(found - value, operator);
  return all.some((seen) => isThere(seen.value) && isLookedAt(seen));
}

/** `order` is below, above or at zero as the left side is to the right. */
function isInOrder(order: number, operator: Comparison['operator']): boolean {
  switch (operator) {
    case '=':
      return order === 0;
    case '>':
      return order > 0;
    case '>=':
      return order >= 0;
    case '<':
      return order < 0;
    case '<=':
      return order <= 0;
  }
}

function exists({ name, path }: Field, event: QueriedEvent, { all }: SeenValues): boolean {
  if (path !== undefined) return all.some(isAt(path));
  const { whole = [], words = [], time } = ruleOf(name);
  return time !== undefined || [...whole, ...words].some((fact) => factOf(event, fact) !== undefined);
}
