// The words of an event as they are written into its document: those of facts, those of names once more among the facets,
// those of content with its paths and numbers. Few events have as many words as the limits of event-tokens.ts are about:
// the others are written without a look at these, which is several times as fast.

import type { Classification } from '@tallystick/contract';
import { eventTokens, SAME_TOKENS_MAX, textOf } from '../../query/event-tokens.ts';
import type { QueriedEvent } from '../../query/queried-event.ts';
import { eachToken } from '../../query/tokens.ts';
import { type ContentPath, contentRoot } from './content-path.ts';
import { placesOf } from './number-places.ts';
import type { TermText } from './term-text.ts';
import {
  type KeyedClass,
  keyedClass,
  keysOf,
  NAME_LETTERS,
  nameTerm,
  numberTerm,
  pathTerm,
  presenceTerm,
  type ViewTerms,
} from './terms.ts';

export interface WrittenTexts {
  readonly facets: TermText;
  readonly facts: TermText;
  readonly content: TermText;
}

/** Of a notice everything is shown to everybody. */
export function contentClassOf({ kind, classification }: QueriedEvent): Classification {
  return kind === 'Notice' ? 'Public' : classification;
}

/** The texts are empty before. */
export function writeWords(event: QueriedEvent, terms: ViewTerms, texts: WrittenTexts): void {
  if (new EventWords(event, terms, texts).write()) return;
  for (const text of Object.values(texts)) text.clear();
  writeWithin(event, terms, texts);
}

/** The same with a look at the limits. */
export function writeWithin(event: QueriedEvent, terms: ViewTerms, texts: WrittenTexts): void {
  new EventWords(event, terms, texts).writeWithin();
}

class EventWords {
  readonly #event: QueriedEvent;
  readonly #terms: ViewTerms;
  readonly #keyed: KeyedClass | undefined;
  readonly #texts: WrittenTexts;
  /** How many words there are. */
  #count = 0;

  constructor(event: QueriedEvent, terms: ViewTerms, texts: WrittenTexts) {
    this.#event = event;
    this.#terms = terms;
    this.#keyed = keyedClass(contentClassOf(event));
    this.#texts = texts;
  }

  /** False if there are so many words that the limits must be looked at. */
  write(): boolean {
    const { action, actor, resource, context, payload } = this.#event;
    this.#fact(action, undefined);
    for (const name of Object.keys(actor)) this.#fact(actor[name as keyof typeof actor], ACTOR_NAMES[name]);
    for (const name of Object.keys(resource))
      this.#fact(resource[name as keyof typeof resource], RESOURCE_NAMES[name]);
    if (context !== undefined) this.#content(context, contentRoot('context'));
    if (payload !== undefined) this.#content(payload, contentRoot('payload'));
    return this.#count <= SAME_TOKENS_MAX;
  }

  /** The letter is that of a name for people. */
  #fact(value: unknown, letter: string | undefined): void {
    const { facts, facets } = this.#texts;
    const { prefix } = this.#terms;
    facts.addGap();
    const text = textOf(value);
    if (text === undefined) {
      for (const inner of innerOf(value)) this.#fact(inner, undefined);
      return;
    }
    this.#count += writeText(text, facts, prefix);
    if (letter === undefined) return;
    facets.addGap();
    facets.addBehind(prefix, presenceTerm(letter));
    writeText(text, facets, prefix + nameTerm(letter, ''));
  }

  #content(value: unknown, path: ContentPath): void {
    // All of it is written anew then.
    if (this.#count > SAME_TOKENS_MAX) return;
    // No phrase has such a term in it, so it stands between values as a gap does.
    this.#contentTerm(path.term);
    if (typeof value === 'number')
      for (const place of placesOf(value)) this.#contentTerm(path.beforePlace + place);
    const text = textOf(value);
    if (text !== undefined) this.#contentWords(text);
    else if (Array.isArray(value)) for (const inner of value) this.#content(inner, path);
    else if (typeof value === 'object' && value !== null)
      for (const key of Object.keys(value))
        this.#content((value as Record<string, unknown>)[key], path.below(key));
  }

  #contentTerm(term: string): void {
    const { content } = this.#texts;
    if (this.#keyed === undefined) content.addBehind(this.#terms.prefix, term);
    else content.add(this.#terms.keyed(this.#keyed, term));
  }

  #contentWords(text: string): void {
    const { content } = this.#texts;
    const keyed = this.#keyed;
    if (keyed === undefined) {
      this.#count += writeText(text, content, this.#terms.prefix);
      return;
    }
    eachToken(text, (token) => {
      content.add(this.#terms.keyed(keyed, token));
      return ++this.#count <= SAME_TOKENS_MAX;
    });
  }

  writeWithin(): void {
    const { facts, facets, content } = this.#texts;
    const { prefix } = this.#terms;
    let isContent = false;
    let letter: string | undefined;
    let next = 0;
    eventTokens(this.#event, {
      value: (path, value) => {
        isContent = path[0] === 'context' || path[0] === 'payload';
        next = 0;
        if (isContent) {
          const keys = keysOf(path);
          this.#contentTerm(pathTerm(keys));
          if (typeof value === 'number')
            for (const place of placesOf(value)) this.#contentTerm(numberTerm(keys, place));
          return;
        }
        facts.addGap();
        letter = NAME_LETTERS.get(path.join('.'));
        if (letter === undefined) return;
        facets.addGap();
        facets.addBehind(prefix, presenceTerm(letter));
      },
      token: (token, place) => {
        const words = isContent ? content : facts;
        // What a limit has left out keeps its place.
        for (; next < place; next++) words.addGap();
        if (isContent) this.#contentTerm(token);
        else facts.addBehind(prefix, token);
        if (letter !== undefined && !isContent) facets.addBehind(prefix, nameTerm(letter, token));
        next = place + 1;
      },
    });
  }
}

/** The words of a text, each behind the prefix; gives their number. */
function writeText(text: string, to: TermText, prefix: string): number {
  const words = to.addWords(prefix, text);
  if (words !== undefined) return words;
  let count = 0;
  eachToken(text, (token) => {
    to.addBehind(prefix, token);
    return ++count <= SAME_TOKENS_MAX;
  });
  return count;
}

function innerOf(value: unknown): readonly unknown[] {
  return typeof value === 'object' && value !== null ? Object.values(value) : [];
}

type Letters = Readonly<Record<string, string | undefined>>;
const [ACTOR_NAMES, RESOURCE_NAMES] = (['actor', 'resource'] as const).map((member): Letters => {
  const letters: Record<string, string> = Object.create(null);
  for (const [path, letter] of NAME_LETTERS)
    if (path.startsWith(`${member}.`)) letters[path.slice(member.length + 1)] = letter;
  return letters;
}) as [Letters, Letters];
