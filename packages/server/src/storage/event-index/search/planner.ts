// Turns a question into a plan.

import {
  type Classification,
  CLASSIFICATIONS,
  type PolicyId,
  type SearchFilters,
} from '@tallystick/contract';
import { eventIdBytes } from '@tallystick/evidence';
import type { IndexSight } from '../../../policies/sight.ts';
import { type FactName, ruleOf } from '../../../query/fields.ts';
import { foldText } from '../../../query/fold.ts';
import type { Comparison, ContentPath, Field, Operator, Query, Term, Value } from '../../../query/query.ts';
import { numberIn } from '../../../query/query-term.ts';
import { type Phrase, phraseOf } from '../../../query/tokens.ts';
import { termOf } from '../segments/bytes.ts';
import {
  DECIDED_BY,
  escapeEnds,
  FACT_LETTERS,
  factPrefix,
  keysOf,
  NAME_LETTERS,
  namePrefix,
  NULL_AT,
  numberPrefix,
  OPTIONAL_FACTS,
  pathText,
  type Section,
  type Traits,
  valuePrefix,
  WORD,
} from '../segments/terms.ts';
import { AccessPlans } from './access-plan.ts';
import { ALL, and, NONE, not, or, type Plan, wordIn } from './plan.ts';
import {
  contentPresence,
  exactFact,
  factPresence,
  perhaps,
  spelledFact,
  traits,
  traitsWith,
} from './plan-leaves.ts';
import { DAY_MS, type Moment, momentOf } from '../segments/times.ts';

/** Content of these is found by whole words only. */
const ENCRYPTED: readonly Classification[] = ['Confidential', 'Secret'];

/** What a question asks for, with all that this reader may not see left out. */
export function planOf(query: Query, filters: SearchFilters, sight: IndexSight): Plan {
  const planner = new Planner(sight);
  return and([planner.visible(filters), planner.filters(filters), planner.query(query)]);
}

/** Events that a policy has decided about. */
export function decidedByPlan(policyId: PolicyId): Plan {
  return { of: 'Term', sections: ['facts'], term: DECIDED_BY + termOf(policyId) };
}

class Planner {
  readonly #visible: readonly Classification[];
  readonly #content: readonly Classification[];
  /** Rules that say otherwise for single events. */
  readonly #access: AccessPlans | undefined;

  constructor({ visible, whole, access }: IndexSight) {
    this.#visible = visible;
    this.#content = whole;
    this.#access = access && visible.length > 0 ? new AccessPlans(access) : undefined;
  }

  visible({ kinds, classifications }: SearchFilters): Plan {
    const asked = kinds?.length ? kinds : ['Event'];
    const numbersOf = (isAsked: (traits: Traits) => boolean) =>
      traitsWith(
        (each) =>
          asked.includes(each.kind) &&
          (!classifications?.length || classifications.includes(each.classification)) &&
          isAsked(each),
      );
    // Also where all are asked for: docs without content have none.
    const those = (isAsked: (traits: Traits) => boolean): Plan => {
      const numbers = numbersOf(isAsked);
      return numbers.length === 0 ? NONE : { of: 'Traits', numbers };
    };
    const access = this.#access;
    if (access === undefined) return those(({ classification }) => this.#visible.includes(classification));
    const isSecret = ({ classification }: Traits) => classification === 'Secret';
    const events = or([
      those((each) => each.kind === 'Event' && !isSecret(each)),
      and([those((each) => each.kind === 'Event' && isSecret(each)), access.cleared('Confidential')]),
    ]);
    return or([those(({ kind }) => kind === 'Notice'), and([events, not(access.denied)])]);
  }

  filters(filters: SearchFilters): Plan {
    const { actorTypes, outcomes, timeRange } = filters;
    const found = and([
      facts(['actor.userId', 'actor.serviceId'], filters.actorIds),
      facts(['action'], filters.actions),
      facts(['resource.resourceType'], filters.resourceTypes),
      facts(['resource.resourceId'], filters.resourceIds),
      facts(['streamId'], filters.streamIds, false),
      any(filters.correlationIds, (id) => foldedFact('correlationId', foldText(id))),
      traits(
        ({ actorType, outcome }) =>
          (!actorTypes?.length || actorTypes.includes(actorType)) &&
          (!outcomes?.length || outcomes.includes(outcome)),
      ),
      timeRange === undefined
        ? ALL
        : {
            of: 'Time',
            column: 'timestamp',
            from: timeRange.from === undefined ? undefined : momentOf(timeRange.from),
            to: timeRange.to === undefined ? undefined : momentOf(timeRange.to),
          },
    ]);
    return found.of === 'All' ? found : this.#unsureWhereWithheld(found);
  }

  /** No question finds what is in a withheld field, which the index has. */
  #unsureWhereWithheld(found: Plan): Plan {
    const withheld = this.#access?.fieldsWithheld ?? NONE;
    if (withheld.of === 'None') return found;
    return { of: 'Between', sure: and([found, not(withheld)]), possible: found };
  }

  query(query: Query): Plan {
    switch (query.kind) {
      case 'And':
        return and(query.of.map((part) => this.query(part)));
      case 'Or':
        return or(query.of.map((part) => this.query(part)));
      case 'Not':
        return not(this.query(query.of));
      case 'Text':
      case 'Value':
      case 'Comparison':
      case 'Existence':
        return this.#term(query);
    }
  }

  /** Content is found where it is seen, and each class is seen in other events. */
  #term(term: Term): Plan {
    const access = this.#access;
    if (access === undefined) return new TermPlanner(this.#content).plan(term);
    const found = or([
      new TermPlanner([]).plan(term),
      ...CLASSIFICATIONS.map((each) => and([access.cleared(each), new TermPlanner([each]).plan(term)])),
    ]);
    return this.#unsureWhereWithheld(found);
  }
}

/** Plans of single terms, in the facts and in the content of some classes. */
class TermPlanner {
  readonly #content: readonly Classification[];
  readonly #openContent: readonly Classification[];

  constructor(content: readonly Classification[]) {
    this.#content = content;
    this.#openContent = content.filter((each) => !ENCRYPTED.includes(each));
  }

  plan(term: Term): Plan {
    switch (term.kind) {
      case 'Text':
        return this.#words(phraseOf(term.text, term.prefix), ['facts', ...this.#content]);
      case 'Value':
        return this.#value(term);
      case 'Comparison':
        return this.#comparison(term);
      case 'Existence':
        return this.#existence(term.field);
    }
  }

  /** Side by side in one value. */
  #words(phrase: Phrase, sections: readonly Section[]): Plan {
    const read = phrase.prefix
      ? sections.filter((each) => !ENCRYPTED.includes(each as Classification))
      : sections;
    return phraseIn(read, WORD, phrase);
  }

  #value(term: Value): Plan {
    const { name, path } = term.field;
    if (path !== undefined) return this.#valueAt(term, path);
    const { whole = [], words = [] } = ruleOf(name);
    const phrase = phraseOf(term.text, term.prefix);
    return or([
      ...whole.map((fact) => wholeFact(fact, term)),
      ...words.map((fact) => phraseIn(['facts'], namePrefix(NAME_LETTERS[fact as 'actor.userName']), phrase)),
    ]);
  }

  /** Of a value with one word its path is in the index; of others only that the words and the path are there. */
  #valueAt({ text, prefix }: Value, path: ContentPath): Plan {
    const phrase = phraseOf(text, prefix);
    const keys = keysOf(path);
    const isPlain = path.every((step) => typeof step === 'string');
    const sections = prefix && phrase.prefix ? this.#openContent : this.#content;
    const at = pathText(keys);
    const [word] = phrase.words;
    const single: Plan =
      phrase.words.length !== 1 || !isPlain || keys.length === 1
        ? NONE
        : phrase.prefix
          ? { of: 'Run', sections, prefix: valuePrefix(termOf(at)) + termOf(word!) }
          : { of: 'Term', sections, term: valuePrefix(termOf(at)) + termOf(word!) };
    const possible = and([this.#presence(keys), this.#words(phrase, this.#content)]);
    const words: Plan = { of: 'Between', sure: single, possible };
    return prefix ? words : or([words, this.#special(text, keys, isPlain)]);
  }

  /** A number may be written otherwise than it is shown, and null has no words. */
  #special(text: string, keys: readonly string[], isPlain: boolean): Plan {
    const number = numberIn(text);
    const found: Plan =
      foldText(text) === 'null'
        ? keys.length === 1
          ? { of: 'Run', sections: this.#content, prefix: NULL_AT + termOf(pathText(keys)) }
          : { of: 'Term', sections: this.#content, term: NULL_AT + termOf(pathText(keys)) }
        : number === undefined
          ? NONE
          : keys.length === 1
            ? perhaps(this.#presence(keys))
            : this.#numbers(keys, '=', number);
    return isPlain ? found : perhaps(found);
  }

  #numbers(keys: readonly string[], operator: Operator, number: number): Plan {
    return {
      of: 'Number',
      sections: this.#content,
      prefix: numberPrefix(termOf(pathText(keys))),
      operator,
      number,
    };
  }

  #comparison({ field, operator, value }: Comparison): Plan {
    if (typeof value === 'string') return timesOf(field, operator, value);
    const { path } = field;
    if (path === undefined) return NONE;
    const keys = keysOf(path);
    if (keys.length === 1) return perhaps(this.#presence(keys));
    const found = this.#numbers(keys, operator, value);
    return path.every((step) => typeof step === 'string') ? found : perhaps(found);
  }

  #existence({ name, path }: Field): Plan {
    if (path !== undefined) {
      const found = this.#presence(keysOf(path));
      return path.every((step) => typeof step === 'string') ? found : perhaps(found);
    }
    const { whole = [], words = [], time } = ruleOf(name);
    if (time !== undefined || whole.some((fact) => !OPTIONAL_FACTS.includes(fact))) return ALL;
    const letters = [
      ...whole.map((fact) => FACT_LETTERS[fact as 'actor.userId']),
      ...words.map((fact) => NAME_LETTERS[fact as 'actor.userName']),
    ];
    return or(letters.map(factPresence));
  }

  #presence(keys: readonly string[]): Plan {
    return contentPresence(this.#content, keys);
  }
}

function phraseIn(
  sections: readonly Section[],
  prefix: string,
  { words, prefix: isBeginning }: Phrase,
): Plan {
  const terms = words.map(termOf);
  const [first] = terms;
  if (first === undefined || sections.length === 0) return NONE;
  if (terms.length > 1) return { of: 'Phrase', sections, prefix, words: terms, isBeginning };
  return wordIn(sections, prefix + first, isBeginning);
}

function facts(
  names: readonly (keyof typeof FACT_LETTERS)[],
  asked: readonly string[] | undefined,
  takesPrefix = true,
): Plan {
  return any(asked, (text) =>
    or(
      names.map((name) =>
        takesPrefix && text.endsWith('*') ? spelledFact(name, text.slice(0, -1)) : exactFact(name, text),
      ),
    ),
  );
}

function foldedFact(name: keyof typeof FACT_LETTERS, folded: string, isBeginning = false): Plan {
  const prefix = factPrefix(FACT_LETTERS[name]) + termOf(escapeEnds(folded));
  return { of: 'Run', sections: ['facts'], prefix, ...(isBeginning ? {} : { fact: 'Whole' }) };
}

function wholeFact(fact: FactName, { field, text, prefix }: Value): Plan {
  const asked = foldText(text);
  if (fact === 'eventId') return eventIds(asked, prefix);
  if (fact in FACT_LETTERS) return foldedFact(fact as keyof typeof FACT_LETTERS, asked, prefix);
  const { choices = [] } = ruleOf(field.name!);
  const meant = choices.filter((choice) => {
    const folded = foldText(choice);
    return prefix ? folded.startsWith(asked) : folded === asked;
  });
  const trait = (fact === 'actor.actorType' ? 'actorType' : fact) as keyof Traits;
  return traits((each) => meant.includes(each[trait]));
}

const ULID_LENGTH = 26;
/** The first character of one has three bits. */
const ULID = /^[0-7][0-9A-HJKMNP-TV-Z]*$/;

function eventIds(folded: string, isBeginning: boolean): Plan {
  const text = folded.toUpperCase();
  // Anything else is no event id.
  if (!ULID.test(text) || text.length > ULID_LENGTH || (!isBeginning && text.length < ULID_LENGTH))
    return NONE;
  const bytes = (filler: string) =>
    Buffer.from(eventIdBytes(text.padEnd(ULID_LENGTH, filler))).toString('latin1');
  return { of: 'EventId', first: bytes('0'), last: bytes('Z') };
}

const DAY_LENGTH = '2026-01-02'.length;

function timesOf({ name }: Field, operator: Operator, value: string): Plan {
  const column = name === undefined ? undefined : ruleOf(name).time;
  if (column === undefined) return NONE;
  const isDay = value.length === DAY_LENGTH;
  const first = isDay ? { atMs: Date.parse(value), atNs: 0 } : momentOf(value);
  const last = isDay ? { atMs: first.atMs + DAY_MS - 1, atNs: NS_LAST } : first;
  const upTo = (to: Moment): Plan => ({ of: 'Time', column, to });
  const from = (moment: Moment): Plan => ({ of: 'Time', column, from: moment });
  switch (operator) {
    case '=':
      return { of: 'Time', column, from: first, to: last };
    case '>=':
      return from(first);
    case '<=':
      return upTo(last);
    case '>':
      return not(upTo(last));
    case '<':
      return not(from(first));
  }
}
const NS_LAST = 999_999;

function any(asked: readonly string[] | undefined, planFor: (text: string) => Plan): Plan {
  return asked === undefined || asked.length === 0 ? ALL : or(asked.map(planFor));
}
