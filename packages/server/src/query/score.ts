// How well an event fits the words of a query: the more often a word is there, and the rarer it is, the more it counts.
// Good for an order within one answer, and for nothing else.

import { looksAt, wordTermsOf } from './highlights.ts';
import type { QueriedEvent } from './queried-event.ts';
import type { Query, Text, Value } from './query.ts';
import { placesOf, wordedValues } from './seen-values.ts';
import { phraseOf } from './tokens.ts';

/** A term of a query, and what it counts. */
export interface WeighedTerm {
  readonly term: Text | Value;
  readonly weight: number;
}

/** `found` of `all` events have the term. */
export function weightOf(found: number, all: number): number {
  return Math.log(1 + all / (1 + found));
}

/** `foundBy` says how many events of `all` have a term. */
export function weighTerms(
  query: Query,
  foundBy: (term: Text | Value) => number,
  all: number,
): WeighedTerm[] {
  return wordTermsOf(query).map((term) => ({ term, weight: weightOf(foundBy(term), all) }));
}

export function scoreOf(terms: readonly WeighedTerm[], event: QueriedEvent): number {
  const values = wordedValues(event);
  let score = 0;
  for (const { term, weight } of terms) {
    const phrase = phraseOf(term.text, term.prefix);
    let times = 0;
    for (const value of values) if (looksAt(term, value)) times += placesOf(phrase, value).length;
    score += weight * (times / (1 + times));
  }
  return Math.round(score * 1000) / 1000;
}
