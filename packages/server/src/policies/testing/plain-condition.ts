// What conditions mean, straight from the sentences of the contract and on the JSON as it was sent: slow and plain, for
// the compiled ones to be compared with. Expects sound conditions.

import { CONDITION_OPERATORS, type Detector } from '@tallystick/contract';
import { detects } from '../detectors.ts';

type Json = unknown;
type Members = Readonly<Record<string, Json>>;

export function plainlyHold(conditions: Json, event: Json): boolean {
  return comparisonsIn(conditions as Members, []).every(([path, operator, operand]) => {
    const holds = (asked: string) => anyPasses(valuesAt(event, path), asked, operand, path[0]!);
    // `ne` is not `eq`, and `exists: false` is not `exists: true`.
    if (operator === 'ne') return !holds('eq');
    return operator === 'exists' && operand === false ? !holds('exists') : holds(operator);
  });
}

type Comparison = readonly [path: readonly string[], operator: string, operand: Json];

function comparisonsIn(members: Members, above: readonly string[]): Comparison[] {
  return Object.entries(members).flatMap(([key, value]): Comparison[] => {
    const path = [...above, ...stepsIn(above.length === 0 ? key.replace(/^\$\.?(?=.)/, '') : key)];
    // `actions` and `classifications` are those two with `in`.
    if (path.join() === '.actions') return [[['.action'], 'in', value]];
    if (path.join() === '.classifications') return [[['.classification'], 'in', value]];
    // A bare value or a list means eq or in.
    if (Array.isArray(value)) return [[path, 'in', value]];
    if (typeof value !== 'object' || value === null) return [[path, 'eq', value]];
    // An object without operators is a step in the path.
    const isOperators = Object.keys(value).some((key) => CONDITION_OPERATORS.some((each) => each === key));
    if (!isOperators) return comparisonsIn(value as Members, path);
    return Object.entries(value).map(([operator, operand]): Comparison => [path, operator, operand]);
  });
}

/** Keys with a dot before them, numbers without one, and `*`. */
function stepsIn(path: string): string[] {
  const unescaped = (quoted: string) => `.${quoted.replaceAll(/\\(.)/g, '$1')}`;
  const step = /\[(\d+|\*)\]|\["((?:[^"\\]|\\.)*)"\]|\['((?:[^'\\]|\\.)*)'\]|"((?:[^"\\]|\\.)*)"|([^.[\]]+)/g;
  return [...path.matchAll(step)].map(([, index, double, single, quoted, key]) => {
    if (index !== undefined) return index;
    return key === undefined ? unescaped(double ?? single ?? quoted ?? '') : `.${key}`;
  });
}

/** All that the path leads to: none where the field is missing, and several by `[*]`. */
function valuesAt(event: Json, path: readonly string[]): Json[] {
  return path.reduce<Json[]>((values, step) => values.flatMap((value) => valuesBelow(value, step)), [event]);
}

function valuesBelow(value: Json, step: string): Json[] {
  if (typeof value !== 'object' || value === null) return [];
  if (step === '*') return Array.isArray(value) ? value : [];
  const isKey = step.startsWith('.');
  if (isKey === Array.isArray(value)) return [];
  return Object.entries(value).flatMap(([name, below]) =>
    name === (isKey ? step.slice(1) : step) && below !== undefined ? [below] : [],
  );
}

function anyPasses(values: readonly Json[], operator: string, operand: Json, root: string): boolean {
  // A missing field satisfies none of these.
  return values.some((value) => {
    switch (operator) {
      case 'eq':
        return isSame(value, operand) || hasPrefix(value, operand, root);
      case 'in':
        return (operand as Json[]).some((item) => isSame(value, item) || hasPrefix(value, item, root));
      case 'gt':
        return isComparable(value, operand) && order(value, operand) > 0;
      case 'gte':
        return isComparable(value, operand) && order(value, operand) >= 0;
      case 'lt':
        return isComparable(value, operand) && order(value, operand) < 0;
      case 'lte':
        return isComparable(value, operand) && order(value, operand) <= 0;
      case 'contains':
        if (Array.isArray(value)) return value.some((item) => isSame(item, operand));
        return typeof value === 'string' && typeof operand === 'string' && value.includes(operand);
      case 'startsWith':
        return typeof value === 'string' && value.startsWith(operand as string);
      case 'exists':
        return true;
      case 'detects':
        return detects(operand as Detector, value);
      default:
        throw new TypeError(`${operator} is no operator`);
    }
  });
}

/** JSON type and value; the contract allows no operand that is a list or an object. */
function isSame(value: Json, operand: Json): boolean {
  return typeof value === typeof operand && JSON.stringify(value) === JSON.stringify(operand);
}

/** Of an action or a classification a trailing `*` is a prefix. */
function hasPrefix(value: Json, operand: Json, root: string): boolean {
  if (root !== '.action' && root !== '.classification') return false;
  const text = String(operand);
  return text.endsWith('*') && String(value).startsWith(text.slice(0, -1));
}

/** Two numbers or two strings. */
function isComparable(value: Json, operand: Json): boolean {
  return typeof value === typeof operand && (typeof value === 'number' || typeof value === 'string');
}

/** Strings by code point. */
function order(value: Json, operand: Json): number {
  if (typeof value === 'number') return value - (operand as number);
  const [one, other] = [[...(value as string)], [...(operand as string)]];
  const at = one.findIndex((character, i) => character !== other[i]);
  if (at === -1) return one.length - other.length;
  return one[at]!.codePointAt(0)! - (other[at]?.codePointAt(0) ?? -1);
}
