// An event as the index holds it: a row to sort and count by, and the terms to find it by. The whole event is indexed,
// for every reader: words of context and payload go into the column of the event's classification, and a search
// looks only into the columns that its reader is cleared for.

import { ACTOR_TYPES, type Classification, EVENT_OUTCOMES } from '@tallystick/contract';
import { factOf, type FactName } from '../../query/fields.ts';
import { foldText } from '../../query/fold.ts';
import type { QueriedEvent } from '../../query/queried-event.ts';
import { TermText } from './term-text.ts';
import {
  EVERY,
  FACT_LETTERS,
  type FactLetters,
  factTerm,
  OPTIONAL_FACTS,
  presenceTerm,
  timeTerms,
  type ViewTerms,
} from './terms.ts';
import { hourOf, momentOf } from './time-span.ts';
import { contentClassOf, writeWords } from './written-words.ts';

export interface Document {
  readonly facets: string;
  readonly facts: string;
  readonly content: string;
  /** Whose column the content goes into. */
  readonly contentClass: Classification;
  readonly atMs: number;
  readonly atNs: number;
  readonly actor: string;
  readonly actorLabel: string | undefined;
  readonly actorType: number;
  readonly outcome: number;
}

/** One of each is enough: a document is written whole before the next one begins. */
const texts = { facets: new TermText(), facts: new TermText(), content: new TermText() };

export function documentOf(event: QueriedEvent, terms: ViewTerms): Document {
  for (const text of Object.values(texts)) text.clear();
  const { atMs, atNs } = momentOf(event.timestamp);
  writeWords(event, terms, texts);
  writeFacets(event, atMs, terms, texts.facets);
  const { userId, serviceId, userName, serviceName, actorType } = event.actor;
  const name = userName ?? serviceName;
  const id = userId ?? serviceId;
  return {
    facets: texts.facets.take(),
    facts: texts.facts.take(),
    content: texts.content.take(),
    contentClass: contentClassOf(event),
    atMs,
    atNs,
    actor: id ?? name ?? actorType,
    actorLabel: id === undefined ? undefined : name,
    actorType: ACTOR_TYPES.indexOf(actorType),
    outcome: EVENT_OUTCOMES.indexOf(event.outcome),
  };
}

const FACTS = Object.entries(FACT_LETTERS) as [FactName, FactLetters][];
/** Of these nearly every event has another: to remember their terms would gain nothing. */
const VARIED: readonly FactName[] = ['eventId', 'correlationId', 'resource.resourceId'];

function writeFacets(event: QueriedEvent, atMs: number, { prefix }: ViewTerms, facets: TermText): void {
  const hour = hourOf(atMs);
  const received = hourOf(Date.parse(event.receivedAt));
  const times = remembered('times', `${hour} ${received}`, () => [
    EVERY,
    ...timeTerms('timestamp', hour),
    ...timeTerms('receivedAt', received),
  ]);
  for (const term of times) facets.addBehind(prefix, term);
  for (const [name, letters] of FACTS) {
    const text = factOf(event, name);
    if (text === undefined) continue;
    const make = () => factTerms(name, letters, text);
    for (const term of VARIED.includes(name) ? make() : remembered(name, text, make))
      facets.addBehind(prefix, term);
  }
}

const REMEMBERED_CHARACTERS_MAX = 4 * 1024 * 1024;
let characters = 0;
const made = new Map<FactName | 'times', Map<string, readonly string[]>>();

/** Terms of what many events have in common, whosever they are: made once for each text. */
function remembered(
  name: FactName | 'times',
  text: string,
  make: () => readonly string[],
): readonly string[] {
  let ofName = made.get(name);
  if (ofName === undefined) made.set(name, (ofName = new Map()));
  let terms = ofName.get(text);
  if (terms === undefined) {
    if (characters > REMEMBERED_CHARACTERS_MAX) {
      characters = 0;
      for (const each of made.values()) each.clear();
    }
    ofName.set(text, (terms = make()));
    characters += text.length + terms.reduce((sum, term) => sum + term.length, 0);
  }
  return terms;
}

function factTerms(name: FactName, { exact, folded, ulid }: FactLetters, text: string): string[] {
  return [
    ...(ulid === undefined ? [] : [factTerm(ulid, text.toLowerCase())]),
    ...(exact === undefined ? [] : [factTerm(exact, text)]),
    ...(folded === undefined ? [] : [factTerm(folded, foldText(text))]),
    ...(exact !== undefined && OPTIONAL_FACTS.includes(name) ? [presenceTerm(exact)] : []),
  ];
}
