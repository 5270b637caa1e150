// The values of an event that a reader can search, each with its words, and where in them a phrase stands.

import { isAtLeast } from '../access/roles.ts';
import { eventTokens } from './event-tokens.ts';
import type { PathStep } from './field-path.ts';
import type { QueriedEvent } from './queried-event.ts';
import type { Phrase } from './tokens.ts';

export interface SeenValue {
  /** From the event down: `['payload', 'lines', 0, 'sku']`. */
  readonly path: readonly PathStep[];
  readonly value: unknown;
  /** The path as text, where the value is a fact: no content. */
  readonly fact: string | undefined;
  /** By their places; there are gaps where a limit left a word out. */
  readonly words: readonly (string | undefined)[];
  /** Whether it is found by the beginnings of its words, too. */
  readonly takesPrefix: boolean;
}

type Seen = SeenValue & { readonly words: (string | undefined)[] };

/** In the order of the event. */
export function seenValues(event: QueriedEvent): SeenValue[] {
  const values: Seen[] = [];
  const make = maker(event);
  eventTokens(event, {
    value: (path, value) => values.push(make(path, value)),
    token(token, place) {
      values.at(-1)!.words[place] = token;
    },
  });
  return values;
}

/** Those that have words; most values of a large event are past the limit of words, or have none. */
export function wordedValues(event: QueriedEvent): SeenValue[] {
  const values: Seen[] = [];
  const make = maker(event);
  let path: readonly PathStep[] = [];
  let value: unknown;
  let isNew = false;
  eventTokens(event, {
    value(...begun) {
      [path, value] = begun;
      isNew = true;
    },
    token(token, place) {
      if (isNew) values.push(make(path, value));
      isNew = false;
      values.at(-1)!.words[place] = token;
    },
  });
  return values;
}

function maker(event: QueriedEvent): (path: readonly PathStep[], value: unknown) => Seen {
  // An index of such content holds no words that could be compared with a beginning.
  const isClosed = event.kind === 'Event' && isAtLeast(event.classification, 'Confidential');
  return (path, value) => {
    const isContent = path[0] === 'context' || path[0] === 'payload';
    const fact = isContent ? undefined : path.join('.');
    return { path: [...path], value, fact, words: [], takesPrefix: !(isContent && isClosed) };
  };
}

const NOWHERE: readonly number[] = [];

/** The places at which the phrase begins. Asked for each value and each term, of which there are many: most have none. */
export function placesOf(phrase: Phrase, { words, takesPrefix }: SeenValue): readonly number[] {
  const { length } = phrase.words;
  if (length === 0 || (phrase.prefix && !takesPrefix)) return NOWHERE;
  let places: number[] | undefined;
  for (let place = 0; place + length <= words.length; place++) {
    if (standsAt(phrase, words, place)) (places ??= []).push(place);
  }
  return places ?? NOWHERE;
}

function standsAt({ words: asked, prefix }: Phrase, words: SeenValue['words'], place: number): boolean {
  const last = asked.length - 1;
  for (let i = 0; i <= last; i++) {
    const found = words[place + i];
    if (found === asked[i]) continue;
    if (!(prefix && i === last && found?.startsWith(asked[i]!))) return false;
  }
  return true;
}
