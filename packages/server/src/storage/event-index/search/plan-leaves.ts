// Small plans that larger ones are made of.

import { foldText } from '../../../query/fold.ts';
import { isAscii, termOf } from '../segments/bytes.ts';
import {
  ALL_TRAITS,
  escapeEnds,
  FACT_LETTERS,
  factKey,
  factPrefix,
  pathText,
  PRESENCE,
  type Section,
  type Traits,
  type WholeFact,
} from '../segments/terms.ts';
import { ALL, NONE, type Plan } from './plan.ts';

export function exactFact(name: WholeFact, text: string): Plan {
  return { of: 'Term', sections: ['facts'], term: factPrefix(FACT_LETTERS[name]) + termOf(factKey(text)) };
}

/** Docs that have the fact with this letter. */
export function factPresence(letter: string): Plan {
  return { of: 'Term', sections: ['facts'], term: PRESENCE + letter };
}

/** Docs that have a value at the path with these keys, in the content of these classes. */
export function contentPresence(sections: readonly Section[], keys: readonly string[]): Plan {
  return { of: 'Term', sections, term: PRESENCE + termOf(pathText(keys)) };
}

/** Folding may change what stands beside a character that is not ASCII: only what is before it is looked up. */
export function spelledFact(name: WholeFact, beginning: string): Plan {
  const letter = factPrefix(FACT_LETTERS[name]);
  let end = 0;
  while (end < beginning.length && isAscii(beginning[end]!)) end++;
  return {
    of: 'Run',
    sections: ['facts'],
    prefix: letter + escapeEnds(foldText(beginning.slice(0, end))),
    fact: { letterEnd: letter.length, spelling: termOf(escapeEnds(beginning)) },
  };
}

export function traitsWith(isAsked: (traits: Traits) => boolean): number[] {
  return [...ALL_TRAITS.keys()].filter((number) => isAsked(ALL_TRAITS[number]!));
}

export function traits(isAsked: (traits: Traits) => boolean): Plan {
  const numbers = traitsWith(isAsked);
  if (numbers.length === ALL_TRAITS.length) return ALL;
  return numbers.length === 0 ? NONE : { of: 'Traits', numbers };
}

export function perhaps(possible: Plan): Plan {
  return { of: 'Between', sure: NONE, possible };
}
