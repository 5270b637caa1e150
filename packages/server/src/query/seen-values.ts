// The values of an event that a reader can search, each with its words, and where in them a phrase stands.

import { isAtLeast } from '../events/classify.ts';
import { eventTokens } from './event-tokens.ts';
import type { Step } from './field-path.ts';
import type { QueriedEvent } from './queried-event.ts';
import type { Phrase } from './tokens.ts';

export interface SeenValue {
  /** From the event down: `['payload', 'lines', 0, 'sku']`. */
  readonly path: readonly Step[];
  readonly value: unknown;
  /** By their places; there are gaps where a limit left a word out. */
  readonly words: readonly (string | undefined)[];
  /** Whether it is found by the beginnings of its words, too. */
  readonly takesPrefix: boolean;
}

/** In the order of the event. */
export function seenValues(event: QueriedEvent): SeenValue[] {
  // An index of such content holds no words that could be compared with a beginning.
  const isClosed = event.kind === 'Event' && isAtLeast(event.classification, 'Confidential');
  const values: (SeenValue & { words: (string | undefined)[] })[] = [];
  eventTokens(event, {
    value(path, value) {
      const isContent = path[0] === 'context' || path[0] === 'payload';
      values.push({ path: [...path], value, words: [], takesPrefix: !(isContent && isClosed) });
    },
    token(token, place) {
      values.at(-1)!.words[place] = token;
    },
  });
  return values;
}

/** The places at which the phrase begins. */
export function placesOf({ words: asked, prefix }: Phrase, { words, takesPrefix }: SeenValue): number[] {
  if (asked.length === 0 || (prefix && !takesPrefix)) return [];
  const last = asked.length - 1;
  const isAt = (place: number): boolean =>
    asked.every((word, i) => {
      const found = words[place + i];
      return found === word || (prefix && i === last && found !== undefined && found.startsWith(word));
    });
  return [...words.keys()].filter(isAt);
}
