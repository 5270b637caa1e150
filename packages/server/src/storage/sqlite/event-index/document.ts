// An event as the index holds it: a row to sort and count by, and the terms to find it by. The whole event is indexed,
// whoever will search: words of context and payload go into the column of the event's classification, and a search
// looks only into the columns that its reader is cleared for.

import { ACTOR_TYPES, type Classification, EVENT_OUTCOMES } from '@tallystick/contract';
import { eventTokens } from '../../../query/event-tokens.ts';
import { factOf, type FactName } from '../../../query/fields.ts';
import { foldText } from '../../../query/fold.ts';
import type { QueriedEvent } from '../../../query/queried-event.ts';
import {
  EVERY,
  FACT_LETTERS,
  type FactLetters,
  factTerm,
  GAP,
  keyedClass,
  keysOf,
  NAME_LETTERS,
  nameTerm,
  numberTerms,
  OPTIONAL_FACTS,
  pathTerm,
  presenceTerm,
  timeTerms,
  type ViewTerms,
} from './terms.ts';
import { hourOf, momentOf } from './time-span.ts';

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

export function documentOf(event: QueriedEvent, terms: ViewTerms): Document {
  const { atMs, atNs } = momentOf(event.timestamp);
  const { facts, names, content } = wordsOf(event, terms);
  const { userId, serviceId, userName, serviceName, actorType } = event.actor;
  const name = userName ?? serviceName;
  const id = userId ?? serviceId;
  return {
    facets: facetsOf(event, atMs, terms) + names,
    facts,
    content,
    contentClass: contentClassOf(event),
    atMs,
    atNs,
    actor: id ?? name ?? actorType,
    actorLabel: id === undefined ? undefined : name,
    actorType: ACTOR_TYPES.indexOf(actorType),
    outcome: EVENT_OUTCOMES.indexOf(event.outcome),
  };
}

/** Of a notice everything is shown to everybody. */
function contentClassOf({ kind, classification }: QueriedEvent): Classification {
  return kind === 'Notice' ? 'Public' : classification;
}

const FACTS = Object.entries(FACT_LETTERS) as [FactName, FactLetters][];
/** Of these nearly every event has another: to remember their terms would gain nothing. */
const VARIED: readonly FactName[] = ['eventId', 'correlationId', 'resource.resourceId'];

function facetsOf(event: QueriedEvent, atMs: number, terms: ViewTerms): string {
  const hour = hourOf(atMs);
  const received = hourOf(Date.parse(event.receivedAt));
  let facets = terms.once(`${hour} ${received}`, () => [
    EVERY,
    ...timeTerms('timestamp', hour),
    ...timeTerms('receivedAt', received),
  ]);
  for (const [name, letters] of FACTS) {
    const text = factOf(event, name);
    if (text === undefined) continue;
    const make = () => factTerms(name, letters, text);
    facets += ` ${VARIED.includes(name) ? terms.all(make()) : terms.once(`${name} ${text}`, make)}`;
  }
  return facets;
}

function factTerms(name: FactName, { exact, folded, ulid }: FactLetters, text: string): string[] {
  return [
    ...(ulid === undefined ? [] : [factTerm(ulid, text.toLowerCase())]),
    ...(exact === undefined ? [] : [factTerm(exact, text)]),
    ...(folded === undefined ? [] : [factTerm(folded, foldText(text))]),
    ...(exact !== undefined && OPTIONAL_FACTS.includes(name) ? [presenceTerm(exact)] : []),
  ];
}

/** The words of facts, those of names once more, and those of content with its paths and numbers. */
function wordsOf(
  event: QueriedEvent,
  terms: ViewTerms,
): { readonly facts: string; readonly names: string; readonly content: string } {
  const facts: string[] = [];
  const names: string[] = [];
  const content: string[] = [];
  const keyed = keyedClass(contentClassOf(event));
  const contentTerm = (term: string) => (keyed === undefined ? terms.open(term) : terms.keyed(keyed, term));
  let isContent = false;
  let nameLetter: string | undefined;
  let next = 0;
  eventTokens(event, {
    value(path, value) {
      isContent = path[0] === 'context' || path[0] === 'payload';
      next = 0;
      if (!isContent) {
        facts.push(GAP);
        nameLetter = NAME_LETTERS.get(path.join('.'));
        if (nameLetter !== undefined) names.push(GAP, terms.open(presenceTerm(nameLetter)));
        return;
      }
      // No phrase has such a term in it, so it stands between values as a gap does.
      const keys = keysOf(path);
      content.push(contentTerm(pathTerm(keys)));
      if (typeof value === 'number') content.push(...numberTerms(keys, value).map(contentTerm));
    },
    token(token, place) {
      const words = isContent ? content : facts;
      // What a limit has left out keeps its place.
      for (; next < place; next++) words.push(GAP);
      words.push(isContent ? contentTerm(token) : terms.open(token));
      if (nameLetter !== undefined && !isContent) names.push(terms.open(nameTerm(nameLetter, token)));
      next = place + 1;
    },
  });
  const join = (words: string[]) => words.join(' ');
  return { facts: join(facts), names: names.length === 0 ? '' : ` ${join(names)}`, content: join(content) };
}
