// The test of one value that a condition makes. A missing value is undefined and passes none.

import type { ValueTest } from './condition.ts';
import { detects } from './detectors.ts';

export function valueTest(test: ValueTest): (value: unknown) => boolean {
  switch (test.kind) {
    case 'OneOf':
      return oneOfTest(test.values, test.prefixes);
    case 'Order':
      return typeof test.than === 'string'
        ? textOrder(test.operator, test.than)
        : numberOrder(test.operator, test.than);
    case 'Contains': {
      const { value: part } = test;
      if (typeof part !== 'string') return (value) => Array.isArray(value) && value.includes(part);
      const isIn = partTest(part);
      return (value) =>
        typeof value === 'string' ? isIn(value) : Array.isArray(value) && value.includes(part);
    }
    case 'StartsWith': {
      const { text } = test;
      return (value) => typeof value === 'string' && value.startsWith(text);
    }
    case 'Present':
      return (value) => value !== undefined;
    case 'Detects': {
      const { detector } = test;
      return (value) => detects(detector, value);
    }
  }
}

/** Up to here the engine's own search is fast whatever the texts are. */
const SHORT_PART = 32;

/** Whether a text has the part in it. Long ones by Knuth, Morris and Pratt: the engine's search may take the product of both lengths. */
function partTest(part: string): (text: string) => boolean {
  if (part.length <= SHORT_PART) return (text) => text.includes(part);
  // Of each beginning of the part: how long the longest shorter beginning is that it ends with.
  const fallBack = new Uint16Array(part.length);
  for (let i = 1, length = 0; i < part.length; i++) {
    while (length > 0 && part[i] !== part[length]) length = fallBack[length - 1]!;
    if (part[i] === part[length]) length++;
    fallBack[i] = length;
  }
  return (text) => {
    for (let i = 0, length = 0; i < text.length; i++) {
      const unit = text.charCodeAt(i);
      while (length > 0 && unit !== part.charCodeAt(length)) length = fallBack[length - 1]!;
      if (unit === part.charCodeAt(length)) length++;
      if (length === part.length) return true;
    }
    return false;
  };
}

type OneOf = Extract<ValueTest, { kind: 'OneOf' }>;

function oneOfTest(values: OneOf['values'], prefixes: OneOf['prefixes']): (value: unknown) => boolean {
  const [only] = values;
  if (prefixes.length > 0) return prefixTest(new Set(values), prefixes);
  if (values.length === 1) return (value) => value === only;
  // Tells 1 from "1" and not 0 from -0, as eq does.
  const all: ReadonlySet<unknown> = new Set(values);
  return (value) => all.has(value);
}

/** One look for each length that prefixes have: there may be a thousand of them, and texts are short. */
function prefixTest(whole: ReadonlySet<unknown>, prefixes: readonly string[]): (value: unknown) => boolean {
  const byLength = [...Map.groupBy(prefixes, ({ length }) => length)].map(
    ([length, those]) => [length, new Set(those)] as const,
  );
  return (value) =>
    whole.has(value) ||
    (typeof value === 'string' &&
      byLength.some(([length, those]) => value.length >= length && those.has(value.slice(0, length))));
}

type Order = Extract<ValueTest, { kind: 'Order' }>['operator'];

function numberOrder(operator: Order, than: number): (value: unknown) => boolean {
  switch (operator) {
    case 'gt':
      return (value) => typeof value === 'number' && value > than;
    case 'gte':
      return (value) => typeof value === 'number' && value >= than;
    case 'lt':
      return (value) => typeof value === 'number' && value < than;
    case 'lte':
      return (value) => typeof value === 'number' && value <= than;
  }
}

const ORDERS: Readonly<Record<Order, (sign: number) => boolean>> = {
  gt: (sign) => sign > 0,
  gte: (sign) => sign >= 0,
  lt: (sign) => sign < 0,
  lte: (sign) => sign <= 0,
};

function textOrder(operator: Order, than: string): (value: unknown) => boolean {
  const isInOrder = ORDERS[operator];
  // The engine compares UTF-16 units, which is another order only between units from U+D800 on.
  const compare = /[\ud800-\uffff]/.test(than) ? compareCodePoints : compareUnits;
  return (value) => typeof value === 'string' && isInOrder(compare(value, than));
}

function compareUnits(a: string, b: string): number {
  return a === b ? 0 : a < b ? -1 : 1;
}

function compareCodePoints(a: string, b: string): number {
  const length = Math.min(a.length, b.length);
  for (let i = 0; i < length; i++) {
    const difference = rankOf(a.charCodeAt(i)) - rankOf(b.charCodeAt(i));
    if (difference !== 0) return difference;
  }
  return a.length - b.length;
}

/** The units of characters past U+FFFF come behind those of U+E000 to U+FFFF. */
function rankOf(unit: number): number {
  if (unit < 0xd800) return unit;
  return unit < 0xe000 ? unit + 0x2000 : unit - 0x800;
}
