// What a plan may know of a view: the few texts that a fact has there, and the hours that there are events of.

import type { FactName, TimeName } from '../../query/fields.ts';
import { foldText } from '../../query/fold.ts';
import type { KeyKind } from './index-columns.ts';
import { spanTerm } from './terms.ts';
import { hourOf, spansBetween } from './time-span.ts';

/** More texts than these are not looked through. */
export const KEY_TEXTS_MAX = 500;

/** The facts whose texts are keys. */
export const KEYS_OF_FACTS: Readonly<Partial<Record<FactName, KeyKind>>> = {
  action: 'action',
  'resource.resourceType': 'resourceType',
};

/** More than these and the words are not asked for the time: the docs are, each one. */
const COVER_TERMS_MAX = 400;

/** The times of the first and the last event. */
export interface Bounds {
  readonly firstMs: number;
  readonly lastMs: number;
}

export function beginningWith(texts: readonly string[], beginning: string, isFolded: boolean): string[] {
  return texts.filter((text) => (isFolded ? foldText(text) : text).startsWith(beginning));
}

/** The terms of all hours from one to another that lie within the bounds; undefined where they are too many. */
export function hourTermsBetween(
  time: TimeName,
  bounds: Bounds | undefined,
  first = Number.NEGATIVE_INFINITY,
  last = Number.POSITIVE_INFINITY,
): readonly string[] | undefined {
  if (bounds === undefined) return [];
  const begin = Math.max(first, hourOf(bounds.firstMs));
  const end = Math.min(last, hourOf(bounds.lastMs));
  const terms: string[] = [];
  for (const span of begin <= end ? spansBetween(begin, end) : []) {
    if (terms.push(spanTerm(time, span)) > COVER_TERMS_MAX) return undefined;
  }
  return terms;
}
