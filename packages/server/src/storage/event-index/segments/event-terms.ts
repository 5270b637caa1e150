// Adds the terms of an event to the sections of a segment. Its values are gathered first, each with its words, and added
// then. Few events have as many words as the limits of query/event-tokens.ts are about: the values of the others are
// gathered without regard to these, which is several times as fast.

import { factOf, type FactName } from '../../../query/fields.ts';
import { eventTokens, SAME_TOKENS_MAX, textOf } from '../../../query/event-tokens.ts';
import type { QueriedEvent } from '../../../query/queried-event.ts';
import { NO_PLACE, type TermGroup, type TermTable } from './term-table.ts';
import {
  contentSectionOf,
  DECIDED_BY,
  FACT_LETTERS,
  factKey,
  factPrefix,
  keysOf,
  NAME_LETTERS,
  namePrefix,
  NULL_AT,
  numberPrefix,
  OPTIONAL_FACTS,
  pathText,
  placeOf,
  PRESENCE,
  type Section,
  SECTIONS,
  valuePrefix,
  WORD,
} from './terms.ts';
import { WordBytes } from './word-bytes.ts';

/** The terms of all events of a segment. */
export class EventTerms {
  readonly #facts: FactTerms;
  readonly #content: ReadonlyMap<Section, ContentTerms>;

  constructor(sections: Readonly<Record<Section, TermTable>>) {
    this.#facts = new FactTerms(sections.facts);
    this.#content = new Map(SECTIONS.map((name) => [name, new ContentTerms(sections[name])]));
  }

  add(event: QueriedEvent, doc: number): void {
    const content = this.#content.get(contentSectionOf(event))!;
    gathered.clear();
    if (!gatherAll(event, content)) {
      gathered.clear();
      gatherWithin(event, content);
    }
    this.#facts.addWhole(event, doc);
    const { valueCount } = gathered;
    let nextFactPlace = 0;
    let nextContentPlace = 0;
    for (let i = 0; i < valueCount; i++) {
      const at = gathered.paths[i]!;
      if (typeof at === 'string') nextFactPlace = this.#facts.addValue(at, i, doc, nextFactPlace);
      else nextContentPlace = content.addValue(at, i, doc, nextContentPlace);
    }
  }
}

/** The values of one event, in its order, and the words of each, one after another. */
class GatheredValues {
  /** A path of facts, or one of content. */
  readonly paths: (string | ContentPath)[] = [];
  readonly values: unknown[] = [];
  /** Where the words of each begin. */
  readonly wordsFrom: number[] = [];
  /** How many words each has, those included that a limit leaves out. */
  readonly wordCounts: number[] = [];
  readonly words = new WordBytes();
  /** Of each word within its value; undefined where no word is left out. */
  places: number[] | undefined;
  valueCount = 0;

  clear(): void {
    this.valueCount = 0;
    this.words.clear();
    this.places = undefined;
  }

  value(path: string | ContentPath, value: unknown): void {
    const at = this.valueCount++;
    this.paths[at] = path;
    this.values[at] = value;
    this.wordsFrom[at] = this.words.count;
    this.wordCounts[at] = 0;
  }

  /** Of the value that came last: all of its words. */
  addText(text: string): void {
    this.wordCounts[this.valueCount - 1] = this.words.addWords(text, SAME_TOKENS_MAX);
  }

  /** The same, word by word. */
  addWord(word: string, place: number): void {
    (this.places ??= [])[this.words.add(word)] = place;
    this.wordCounts[this.valueCount - 1] = place + 1;
  }

  /** Where the words of a value end. */
  wordsEnd(value: number): number {
    return value + 1 < this.valueCount ? this.wordsFrom[value + 1]! : this.words.count;
  }

  /** Of a word of a value. */
  placeOf(word: number, value: number): number {
    return this.places === undefined ? word - this.wordsFrom[value]! : this.places[word]!;
  }
}

/** One is enough: an event is added before the next one is gathered. */
const gathered = new GatheredValues();

/** False if there are so many words that the limits must be looked at. */
function gatherAll(
  { action, actor, resource, context, payload }: QueriedEvent,
  content: ContentTerms,
): boolean {
  gatherFact('action', action);
  gatherMembers('actor', actor);
  gatherMembers('resource', resource);
  if (context !== undefined) gatherContent(content.root('context'), context);
  if (payload !== undefined) gatherContent(content.root('payload'), payload);
  return gathered.words.count <= SAME_TOKENS_MAX;
}

const MEMBER_PATHS = {
  actor: new Map<string, string>(),
  resource: new Map<string, string>(),
};

function gatherMembers(parent: 'actor' | 'resource', members: object): void {
  const paths = MEMBER_PATHS[parent];
  for (const name of Object.keys(members)) {
    // The log accepts no other names than a few; an altered row may have any.
    const path = paths.get(name) ?? `${parent}.${name}`;
    if (paths.size < MEMBER_PATHS_MAX) paths.set(name, path);
    gatherFact(path, (members as Record<string, unknown>)[name]);
  }
}
const MEMBER_PATHS_MAX = 20;

function gatherFact(path: string, value: unknown): void {
  gathered.value(path, value);
  const text = textOf(value);
  if (text !== undefined) gathered.addText(text);
  else if (typeof value === 'object' && value !== null)
    for (const inner of Object.values(value)) gatherFact('', inner);
}

function gatherContent(path: ContentPath, value: unknown): void {
  // All of it is gathered again then.
  if (gathered.words.count > SAME_TOKENS_MAX) return;
  gathered.value(path, value);
  const text = textOf(value);
  if (text !== undefined) gathered.addText(text);
  else if (Array.isArray(value)) for (const inner of value) gatherContent(path, inner);
  else if (typeof value === 'object' && value !== null)
    for (const key of Object.keys(value))
      gatherContent(path.below(key), (value as Record<string, unknown>)[key]);
}

/** The same with a look at the limits. */
function gatherWithin(event: QueriedEvent, content: ContentTerms): void {
  eventTokens(event, {
    value(path, value) {
      const isContent = path[0] === 'context' || path[0] === 'payload';
      gathered.value(isContent ? content.pathOf(keysOf(path)) : path.join('.'), value);
    },
    token: (token, place) => gathered.addWord(token, place),
  });
}

/** So far apart that no phrase reaches from one value into the next. */
const VALUE_GAP = 2;
const FACTS = Object.entries(FACT_LETTERS) as [FactName, string][];
/** Of these nearly every event has another one. */
const VARIED: readonly FactName[] = ['correlationId', 'resource.resourceId'];

interface WholeFactTerms {
  readonly name: FactName;
  readonly group: TermGroup;
  /** Terms that were added before, by their texts. */
  readonly terms: Map<string, number> | undefined;
  /** Of an optional one: that it is there. */
  readonly presence: number | undefined;
}

class FactTerms {
  readonly #section: TermTable;
  readonly #words: TermGroup;
  readonly #names: ReadonlyMap<string, { readonly words: TermGroup; readonly presence: number }>;
  readonly #whole: readonly WholeFactTerms[];
  readonly #deciders: TermGroup;
  /** By the ids of policies. */
  readonly #decidedBy = new Map<string, number>();

  constructor(section: TermTable) {
    this.#section = section;
    this.#deciders = section.group(DECIDED_BY);
    this.#words = section.group(WORD);
    const presence = section.group(PRESENCE);
    this.#names = new Map(
      Object.entries(NAME_LETTERS).map(([name, letter]) => [
        name,
        { words: section.group(namePrefix(letter)), presence: termOf(section, presence, letter) },
      ]),
    );
    this.#whole = FACTS.map(([name, letter]) => ({
      name,
      group: section.group(factPrefix(letter)),
      terms: VARIED.includes(name) ? undefined : new Map<string, number>(),
      presence: OPTIONAL_FACTS.includes(name) ? termOf(section, presence, letter) : undefined,
    }));
  }

  addWhole(event: QueriedEvent, doc: number): void {
    const section = this.#section;
    for (const { name, group, terms, presence } of this.#whole) {
      const text = factOf(event, name);
      if (text === undefined) continue;
      let term = terms?.get(text);
      if (term === undefined) {
        term = termOf(section, group, factKey(text));
        terms?.set(text, term);
      }
      section.addTo(term, doc);
      if (presence !== undefined) section.addTo(presence, doc);
    }
    for (const policyId of event.decidedBy ?? []) {
      let term = this.#decidedBy.get(policyId);
      if (term === undefined)
        this.#decidedBy.set(policyId, (term = termOf(section, this.#deciders, policyId)));
      section.addTo(term, doc);
    }
  }

  /** Of a value that was gathered. Gives where the places of the next one begin. */
  addValue(path: string, value: number, doc: number, nextPlace: number): number {
    const section = this.#section;
    const { words } = gathered;
    const name = this.#names.get(path);
    if (name !== undefined) section.addTo(name.presence, doc);
    const count = gathered.wordCounts[value]!;
    const end = gathered.wordsEnd(value);
    for (let word = gathered.wordsFrom[value]!; word < end; word++) {
      const place = count > 1 ? nextPlace + gathered.placeOf(word, value) : NO_PLACE;
      section.add(this.#words, words, word, doc, place);
      if (name !== undefined) section.add(name.words, words, word, doc, place);
    }
    return count > 1 ? nextPlace + count + VALUE_GAP : nextPlace;
  }
}

const key = new WordBytes();

/** The number of a term. */
function termOf(section: TermTable, group: TermGroup, text: string): number {
  key.clear();
  return section.numberOf(group, key, key.add(text));
}

class ContentTerms {
  readonly section: TermTable;
  readonly presence: TermGroup;
  readonly nulls: TermGroup;
  readonly #words: TermGroup;
  readonly #roots = new Map<string, ContentPath>();

  constructor(section: TermTable) {
    this.section = section;
    this.presence = section.group(PRESENCE);
    this.nulls = section.group(NULL_AT);
    this.#words = section.group(WORD);
  }

  root(name: string): ContentPath {
    let root = this.#roots.get(name);
    if (root === undefined) this.#roots.set(name, (root = new ContentPath([name], this)));
    return root;
  }

  pathOf([root, ...keys]: readonly string[]): ContentPath {
    let path = this.root(root!);
    for (const key of keys) path = path.below(key);
    return path;
  }

  /** Of a value that was gathered. Gives where the places of the next one begin. */
  addValue(path: ContentPath, value: number, doc: number, nextPlace: number): number {
    const { section } = this;
    const { words } = gathered;
    const is = gathered.values[value];
    path.add(is, doc);
    const from = gathered.wordsFrom[value]!;
    const end = gathered.wordsEnd(value);
    const count = gathered.wordCounts[value]!;
    if (count > 1) {
      for (let word = from; word < end; word++)
        section.add(this.#words, words, word, doc, nextPlace + gathered.placeOf(word, value));
      return nextPlace + count + VALUE_GAP;
    }
    if (from < end) {
      section.add(this.#words, words, from, doc);
      if (typeof is !== 'number') section.add(path.values, words, from, doc);
    }
    return nextPlace;
  }
}

/** Where a value stands in context or payload: the keys from the top down. Most events have the same paths. */
class ContentPath {
  readonly #of: ContentTerms;
  readonly #keys: readonly string[];
  readonly #text: string;
  readonly #below = new Map<string, ContentPath>();
  #presence: number | undefined;
  #null: number | undefined;
  #values: TermGroup | undefined;
  #numbers: TermGroup | undefined;

  constructor(keys: readonly string[], of: ContentTerms) {
    this.#keys = keys;
    this.#of = of;
    this.#text = pathText(keys);
  }

  below(key: string): ContentPath {
    let path = this.#below.get(key);
    if (path === undefined) this.#below.set(key, (path = new ContentPath([...this.#keys, key], this.#of)));
    return path;
  }

  /** Values that have one word. */
  get values(): TermGroup {
    return (this.#values ??= this.#of.section.group(valuePrefix(this.#text)));
  }

  /** That a value is there, and what kind of one. */
  add(value: unknown, doc: number): void {
    const { section, presence, nulls } = this.#of;
    section.addTo((this.#presence ??= termOf(section, presence, this.#text)), doc);
    if (value === null) section.addTo((this.#null ??= termOf(section, nulls, this.#text)), doc);
    if (typeof value !== 'number') return;
    this.#numbers ??= section.group(numberPrefix(this.#text));
    section.addTo(termOf(section, this.#numbers, placeOf(value).place), doc);
  }
}
