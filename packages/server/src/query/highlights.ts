// Shows people where the words of a query stand in an event as this reader sees it: by the path of the value, pieces of
// its original text, with the matches between « and ». Such marks in the text itself stay as they are.
// Words and phrases are marked, anywhere or in their field; fields that are compared as a whole, numbers of a field
// and what stands behind a NOT are not.

import { LIMITS } from '@tallystick/contract';
import { textOf } from './event-tokens.ts';
import { formatPath, leadsTo } from './field-path.ts';
import { ruleOf } from './fields.ts';
import { fragmentsOf, type TextSpan } from './fragments.ts';
import type { QueriedEvent } from './queried-event.ts';
import type { Query, Text, Value } from './query.ts';
import { placesOf, type SeenValue, wordedValues } from './seen-values.ts';
import { eachToken, type Phrase, phraseOf } from './tokens.ts';

export const HIGHLIGHTED_FIELDS_MAX = LIMITS.highlightedFieldsMax;

export function highlightsOf(query: Query, event: QueriedEvent): Record<string, string[]> {
  const terms = wordTermsOf(query).map((term) => ({ term, phrase: phraseOf(term.text, term.prefix) }));
  const highlights: [path: string, fragments: string[]][] = [];
  for (const value of wordedValues(event)) {
    if (highlights.length === HIGHLIGHTED_FIELDS_MAX) break;
    const spans = spansOf(terms, value);
    if (spans.length > 0) highlights.push([formatPath(value.path), fragmentsOf(textOf(value.value)!, spans)]);
  }
  return Object.fromEntries(highlights);
}

/** The terms that an event can match by having words. */
export function wordTermsOf(query: Query): (Text | Value)[] {
  switch (query.kind) {
    case 'And':
    case 'Or':
      return query.of.flatMap(wordTermsOf);
    case 'Text':
    case 'Value':
      return [query];
    case 'Not':
    case 'Comparison':
    case 'Existence':
      return [];
  }
}

export function looksAt(term: Text | Value, { path, value, fact }: SeenValue): boolean {
  if (term.kind === 'Text') return true;
  if (term.field.path !== undefined) return typeof value === 'string' && leadsTo(term.field.path, path);
  return fact !== undefined && (ruleOf(term.field.name).words?.some((word) => word === fact) ?? false);
}

interface AskedPhrase {
  readonly term: Text | Value;
  readonly phrase: Phrase;
}

/** Where the words of the terms stand in the value's text, which is cut into words once for all of them. */
function spansOf(terms: readonly AskedPhrase[], seen: SeenValue): TextSpan[] {
  const found: { readonly first: number; readonly last: number }[] = [];
  for (const { term, phrase } of terms) {
    if (!looksAt(term, seen)) continue;
    for (const place of placesOf(phrase, seen))
      found.push({ first: place, last: place + phrase.words.length - 1 });
  }
  if (found.length === 0) return [];
  const words: TextSpan[] = [];
  eachToken(textOf(seen.value)!, (_token, start, end) => words.push({ start, end }) > 0);
  return found.map(({ first, last }) => ({ start: words[first]!.start, end: words[last]!.end }));
}
