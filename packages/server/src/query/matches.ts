// Whether an event, as this reader sees it, is one that a query asks for: the plain definition, against which every
// index is tested.

import { factOf, ruleOf } from './fields.ts';
import { leadsTo } from './field-path.ts';
import { foldText } from './fold.ts';
import type { QueriedEvent } from './queried-event.ts';
import type { Comparison, ContentPath, Field, Query, Text, Value } from './query.ts';
import { numberIn } from './query-term.ts';
import { placesOf, type SeenValue, seenValues } from './seen-values.ts';
import { compareTimes } from './times.ts';
import { phraseOf } from './tokens.ts';

export function matches(query: Query, event: QueriedEvent): boolean {
  return holds(query, event, seenValues(event));
}

function holds(query: Query, event: QueriedEvent, values: readonly SeenValue[]): boolean {
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

/** The words of a term side by side in one value. */
function hasWords({ text, prefix }: Text | Value, values: readonly SeenValue[]): boolean {
  const phrase = phraseOf(text, prefix);
  return values.some((value) => placesOf(phrase, value).length > 0);
}

function hasValue(term: Value, event: QueriedEvent, values: readonly SeenValue[]): boolean {
  const { name, path } = term.field;
  if (path !== undefined) return isAmong(term, valuesAt(path, values));
  const { whole = [], words = [] } = ruleOf(name);
  return (
    whole.some((fact) => isWhole(factOf(event, fact), term)) ||
    hasWords(
      term,
      values.filter((value) => words.some((fact) => fact === value.path.join('.'))),
    )
  );
}

function valuesAt(path: ContentPath, values: readonly SeenValue[]): SeenValue[] {
  return values.filter((value) => leadsTo(path, value.path));
}

/** A number is a number and not its digits, so 10 is not found in 10.5; with a `*` its digits are all there is. */
function isAmong(term: Value, values: readonly SeenValue[]): boolean {
  if (term.prefix) return hasWords(term, values);
  const number = numberIn(term.text);
  const isNull = foldText(term.text) === 'null';
  return (
    values.some(({ value }) => (isNull && value === null) || (number !== undefined && value === number)) ||
    hasWords(
      term,
      values.filter(({ value }) => typeof value !== 'number'),
    )
  );
}

function isWhole(fact: string | undefined, { text, prefix }: Value): boolean {
  if (fact === undefined) return false;
  const [folded, asked] = [foldText(fact), foldText(text)];
  return prefix ? folded.startsWith(asked) : folded === asked;
}

function compares(
  { field, operator, value }: Comparison,
  event: QueriedEvent,
  values: readonly SeenValue[],
): boolean {
  if (typeof value === 'string') {
    const time = field.name === undefined ? undefined : ruleOf(field.name).time;
    return time !== undefined && isInOrder(compareTimes(event[time], value), operator);
  }
  return (
    field.path !== undefined &&
    valuesAt(field.path, values).some(
      (seen) => typeof seen.value === 'number' && isInOrder(seen.value - value, operator),
    )
  );
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

function exists({ name, path }: Field, event: QueriedEvent, values: readonly SeenValue[]): boolean {
  if (path !== undefined) return valuesAt(path, values).length > 0;
  const { whole = [], words = [], time } = ruleOf(name);
  return time !== undefined || [...whole, ...words].some((fact) => factOf(event, fact) !== undefined);
}
