// From what is asked to what the index is asked: an expression over the terms of one view, as this reader may search it,
// written as its database reads it. A plan that is not exact finds all that is asked for and perhaps more; each doc that it
// finds is then looked at itself.

import type { Classification, SearchFilters } from '@tallystick/contract';
import type { IndexSight } from '../../policies/sight.ts';
import { type FactName, ruleOf, type TimeName } from '../../query/fields.ts';
import { foldText } from '../../query/fold.ts';
import type { Comparison, Field, Operator, Query, Value } from '../../query/query.ts';
import { numberIn } from '../../query/query-term.ts';
import { phraseOf } from '../../query/tokens.ts';
import { placesFor } from './number-places.ts';
import {
  EVERY,
  FACT_LETTERS,
  factTerm,
  keyedClass,
  keysOf,
  NAME_LETTERS,
  nameTerm,
  numberTerm,
  OPTIONAL_FACTS,
  pathTerm,
  presenceTerm,
  type ViewTerms,
} from './terms.ts';
import { DAY_HOURS, hourOf, hoursFor, momentOf } from './time-span.ts';

/** Where the terms of a document stand: facets, words of facts, and words of content by its class. */
export type TermColumn = 'facets' | 'facts' | Classification;

/** How expressions are written. */
export interface Expressions {
  /** The terms side by side in one of the columns, the last one perhaps by its beginning. */
  phrase(columns: readonly TermColumn[], terms: readonly string[], prefix: boolean): string;
  all(expressions: readonly string[]): string;
  any(expressions: readonly string[]): string;
  /** What the one finds and the other does not. */
  without(found: string, excluded: string): string;
  /** Whether the database reads it: it may be too deep or too long. */
  isReadable(expression: string): boolean;
}

/** `match` is an expression of the database. */
export type Plan =
  | { readonly of: 'All'; readonly exact: boolean }
  | { readonly of: 'None'; readonly exact: boolean }
  | {
      readonly of: 'Some';
      readonly match: string;
      readonly exact: boolean;
      /** There where it finds all but what this one finds: beside another plan, that is taken away from it instead. */
      readonly excludes?: string;
    };

export const ALL: Plan = { of: 'All', exact: true };
export const NONE: Plan = { of: 'None', exact: true };
const PERHAPS_ALL: Plan = { of: 'All', exact: false };

/** Where it cannot be asked of the database, the plan is to look at each event. */
export function readable(plan: Plan, expressions: Expressions): Plan {
  return plan.of === 'Some' && !expressions.isReadable(plan.match) ? PERHAPS_ALL : plan;
}

/** Whether it takes long to find anything: all words that begin so are gone through first, however few are needed. */
export function hasPrefix(plan: Plan): boolean {
  // No term has a star in it.
  return plan.of === 'Some' && plan.match.includes('*');
}

/** What is known of a view. */
export interface Known {
  /** The texts of a fact that begin so, as written or folded, if they are few: undefined where they are many, or not known. */
  beginnings(fact: FactName, beginning: string, isFolded: boolean): readonly string[] | undefined;
  /** The terms of all hours from one to another, both included, that there are events of; undefined where they are too many. */
  hours(time: TimeName, first: number | undefined, last: number | undefined): readonly string[] | undefined;
}

/** Makes the plans of one view for one reader. */
export class Planner {
  readonly #terms: ViewTerms;
  readonly #known: Known;
  readonly #expressions: Expressions;
  readonly #openColumns: readonly TermColumn[];
  readonly #keyed: readonly Classification[];
  readonly #openContent: readonly Classification[];

  constructor(terms: ViewTerms, { whole }: IndexSight, known: Known, expressions: Expressions) {
    this.#terms = terms;
    this.#known = known;
    this.#expressions = expressions;
    this.#keyed = whole.filter((each) => keyedClass(each) !== undefined);
    this.#openContent = whole.filter((each) => keyedClass(each) === undefined);
    this.#openColumns = ['facts', ...this.#openContent];
  }

  and(plans: readonly Plan[]): Plan {
    const exact = plans.every((plan) => plan.exact);
    if (plans.some(({ of }) => of === 'None')) return NONE;
    const some = plans.filter((plan) => plan.of === 'Some');
    if (some.length === 0) return { of: 'All', exact };
    const found = some.filter(({ excludes }) => excludes === undefined).map(({ match }) => match);
    const excluded = some.flatMap(({ excludes }) => excludes ?? []);
    const expressions = this.#expressions;
    if (excluded.length === 0) return { of: 'Some', match: expressions.all(found), exact };
    const excludes = expressions.any(excluded);
    if (found.length === 0) return { ...this.#allBut(excludes), exact };
    return { of: 'Some', match: expressions.without(expressions.all(found), excludes), exact };
  }

  or(plans: readonly Plan[]): Plan {
    const exact = plans.every((plan) => plan.exact);
    if (plans.some((plan) => plan.of === 'All' && plan.exact)) return ALL;
    if (plans.some(({ of }) => of === 'All')) return PERHAPS_ALL;
    // The database would go through each one again.
    const matches = [...new Set(plans.flatMap((plan) => (plan.of === 'Some' ? [plan.match] : [])))];
    if (matches.length === 0) return { of: 'None', exact };
    return { of: 'Some', match: this.#expressions.any(matches), exact };
  }

  not(plan: Plan): Plan {
    // What was found too much may be just what is asked for now.
    if (!plan.exact) return PERHAPS_ALL;
    if (plan.of === 'All') return NONE;
    if (plan.of === 'None') return ALL;
    if (plan.excludes !== undefined) return this.#some(plan.excludes);
    return this.#allBut(plan.match);
  }

  #allBut(excludes: string): Plan {
    const match = this.#expressions.without(this.#facet(EVERY), excludes);
    return { of: 'Some', match, exact: true, excludes };
  }

  query(query: Query): Plan {
    switch (query.kind) {
      case 'And':
        return this.and(query.of.map((part) => this.query(part)));
      case 'Or':
        return this.or(uncovered(query.of).map((part) => this.query(part)));
      case 'Not':
        return this.not(this.query(query.of));
      case 'Text':
        return this.#words(query.text, query.prefix);
      case 'Value':
        return this.#value(query);
      case 'Comparison':
        return this.#comparison(query);
      case 'Existence':
        return this.#existence(query.field);
    }
  }

  /** All filters but time, kinds, and what is hidden from the reader. */
  filters(filters: SearchFilters): Plan {
    return this.and([
      this.#any(['actor.userId', 'actor.serviceId'], filters.actorIds, true),
      this.#any(['actor.actorType'], filters.actorTypes),
      this.#any(['action'], filters.actions, true),
      this.#any(['resource.resourceType'], filters.resourceTypes, true),
      this.#any(['resource.resourceId'], filters.resourceIds, true),
      this.#any(['outcome'], filters.outcomes),
      this.#any(['streamId'], filters.streamIds),
      this.#correlations(filters.correlationIds),
    ]);
  }

  /** None of these facets. */
  without(terms: readonly string[]): Plan {
    return this.and(terms.map((term) => this.not(this.#facets([term]))));
  }

  /** Any of these facets. */
  anyFacet(terms: readonly string[]): Plan {
    return this.#facets(terms);
  }

  #any(names: readonly FactName[], asked: readonly string[] | undefined, takesPrefix = false): Plan {
    if (asked === undefined || asked.length === 0) return ALL;
    return this.or(
      names.flatMap((name) => {
        const { exact, ulid } = FACT_LETTERS[name]!;
        return asked.map((text) => {
          if (ulid !== undefined) return this.#ulid(ulid, text, false);
          if (!takesPrefix || !text.endsWith('*')) return this.#some(this.#facet(factTerm(exact!, text)));
          return this.#beginning(name, text.slice(0, -1), false);
        });
      }),
    );
  }

  /** Case does not count in a UUID, so the folded term is all that is needed. */
  #correlations(asked: readonly string[] | undefined): Plan {
    if (asked === undefined || asked.length === 0) return ALL;
    return this.#facets(asked.map((text) => factTerm(FACT_LETTERS.correlationId!.folded!, foldText(text))));
  }

  #words(text: string, prefix: boolean): Plan {
    const phrase = phraseOf(text, prefix);
    if (phrase.words.length === 0) return NONE;
    return this.or([
      this.#openWords(phrase.words, phrase.prefix, this.#openColumns),
      ...this.#keyedWords(phrase),
    ]);
  }

  #openWords(words: readonly string[], prefix: boolean, columns: readonly TermColumn[]): Plan {
    const terms = words.map((word) => this.#terms.open(word));
    return this.#some(this.#expressions.phrase(columns, terms, prefix));
  }

  /** Of such content there is no prefix. */
  #keyedWords({ words, prefix }: { readonly words: readonly string[]; readonly prefix: boolean }): Plan[] {
    if (prefix) return [];
    return this.#keyed.map((each) => {
      const terms = words.map((word) => this.#terms.keyed(keyedClass(each)!, word));
      return this.#some(this.#expressions.phrase([each], terms, false));
    });
  }

  #value(term: Value): Plan {
    const { name, path } = term.field;
    if (path !== undefined) return this.#valueAt(term, keysOf(path));
    const { whole = [], words = [] } = ruleOf(name);
    const phrase = phraseOf(term.text, term.prefix);
    return this.or([
      ...whole.map((fact) => this.#wholeFact(fact, term)),
      ...(phrase.words.length === 0 ? [] : words.map((fact) => this.#nameWords(fact, phrase))),
    ]);
  }

  #wholeFact(fact: FactName, { field, text, prefix }: Value): Plan {
    const { exact, folded, ulid } = FACT_LETTERS[fact]!;
    const asked = foldText(text);
    if (folded !== undefined && prefix) return this.#beginning(fact, asked, true);
    if (folded !== undefined) return this.#some(this.#facet(factTerm(folded, asked)));
    if (ulid !== undefined) return this.#ulid(ulid, asked.toUpperCase(), prefix);
    const { choices = [] } = ruleOf(field.name!);
    const meant = choices.filter((choice) =>
      prefix ? foldText(choice).startsWith(asked) : foldText(choice) === asked,
    );
    return this.#facets(meant.map((choice) => factTerm(exact!, choice)));
  }

  /** The few texts that begin so are looked for one by one: a prefix would be gone through from end to end. */
  #beginning(fact: FactName, beginning: string, isFolded: boolean): Plan {
    const { exact, folded } = FACT_LETTERS[fact]!;
    const texts = exact === undefined ? undefined : this.#known.beginnings(fact, beginning, isFolded);
    if (texts !== undefined) return this.#facets(texts.map((text) => factTerm(exact!, text)));
    return this.#some(this.#facet(factTerm((isFolded ? folded : exact)!, beginning), true));
  }

  /** What has small letters in it is none. */
  #ulid(letter: string, text: string, prefix: boolean): Plan {
    if (text !== text.toUpperCase()) return NONE;
    return this.#some(this.#facet(factTerm(letter, text.toLowerCase()), prefix));
  }

  #nameWords(fact: FactName, { words, prefix }: { words: readonly string[]; prefix: boolean }): Plan {
    const letter = NAME_LETTERS.get(fact)!;
    const terms = words.map((word) => this.#terms.open(nameTerm(letter, word)));
    return this.#some(this.#expressions.phrase(['facets'], terms, prefix));
  }

  /** Whether the words, or the number, stand at just this path is not in the index. */
  #valueAt({ text, prefix }: Value, keys: readonly string[]): Plan {
    const phrase = phraseOf(text, prefix);
    const isWords = phrase.words.length > 0;
    const found = isWords
      ? this.or([
          this.#openWords(
            phrase.words,
            phrase.prefix,
            this.#openContent.length > 0 ? this.#openContent : ['facts'],
          ),
          ...this.#keyedWords(phrase),
        ])
      : NONE;
    const at = keys.length > 1 ? this.#content([pathTerm(keys)]) : ALL;
    const some = prefix ? found : this.or([found, this.#special(text, keys)]);
    return { ...this.and([some, at]), exact: false };
  }

  /** A number may be written otherwise than it is shown, and null has no words. */
  #special(text: string, keys: readonly string[]): Plan {
    if (foldText(text) === 'null') return PERHAPS_ALL;
    const number = numberIn(text);
    if (number === undefined) return NONE;
    return keys.length === 1 ? PERHAPS_ALL : this.#numbers('=', number, keys);
  }

  #numbers(operator: Operator, number: number, keys: readonly string[]): Plan {
    return this.#content(placesFor(operator, number).map((place) => numberTerm(keys, place)));
  }

  #comparison({ field, operator, value }: Comparison): Plan {
    if (typeof value === 'string') return this.#time(field, operator, value);
    if (field.path === undefined) return PERHAPS_ALL;
    const keys = keysOf(field.path);
    if (keys.length === 1) return PERHAPS_ALL;
    return { ...this.#numbers(operator, value, keys), exact: false };
  }

  /** A day is made of whole hours; an instant lies in one, and what else does is found too. */
  #time({ name }: Field, operator: Operator, value: string): Plan {
    const time = name === undefined ? undefined : ruleOf(name).time;
    if (time === undefined) return NONE;
    const isDay = value.length === DAY_LENGTH;
    const first = hourOf(isDay ? Date.parse(value) : momentOf(value).atMs);
    const last = isDay ? first + DAY_HOURS - 1 : first;
    const [from, to] = hoursFor(operator, first, last, isDay);
    const terms = this.#known.hours(time, from, to);
    return terms === undefined ? PERHAPS_ALL : { ...this.#facets(terms), exact: isDay };
  }

  #existence({ name, path }: Field): Plan {
    if (path !== undefined) {
      if (path.length === 1) return PERHAPS_ALL;
      const isExact = path.every((step) => typeof step === 'string');
      return { ...this.#content([pathTerm(keysOf(path))]), exact: isExact };
    }
    const { whole = [], words = [], time } = ruleOf(name);
    if (time !== undefined) return ALL;
    const letters = [
      ...whole.map((fact) => (OPTIONAL_FACTS.includes(fact) ? FACT_LETTERS[fact]!.exact! : undefined)),
      ...words.map((fact) => NAME_LETTERS.get(fact)),
    ];
    if (letters.includes(undefined)) return ALL;
    return this.#facets(letters.map((letter) => presenceTerm(letter!)));
  }

  #facets(terms: readonly string[]): Plan {
    return this.or(terms.map((term) => this.#some(this.#facet(term))));
  }

  #facet(term: string, prefix = false): string {
    return this.#expressions.phrase(['facets'], [this.#terms.open(term)], prefix);
  }

  /** Any of these terms, in the content that this reader may see. */
  #content(terms: readonly string[]): Plan {
    const open = this.#openContent;
    const expressions = this.#expressions;
    return this.or(
      terms.flatMap((term) => [
        ...(open.length === 0 ? [] : [this.#some(expressions.phrase(open, [this.#terms.open(term)], false))]),
        ...this.#keyed.map((each) =>
          this.#some(expressions.phrase([each], [this.#terms.keyed(keyedClass(each)!, term)], false)),
        ),
      ]),
    );
  }

  #some(match: string): Plan {
    return { of: 'Some', match, exact: true };
  }
}

const DAY_LENGTH = '2026-01-02'.length;

/**
 * Without the beginnings of a word that begin with another one of them: what they find is found by that. A beginning
 * takes as long as all words together that begin so.
 */
function uncovered(alternatives: readonly Query[]): readonly Query[] {
  const beginnings = new Set(alternatives.flatMap((each) => beginningOf(each) ?? []));
  return alternatives.filter((each) => {
    const own = beginningOf(each) ?? '';
    for (let end = 1; end < own.length; end++) if (beginnings.has(own.slice(0, end))) return false;
    return true;
  });
}

function beginningOf(query: Query): string | undefined {
  if (query.kind !== 'Text' || !query.prefix) return undefined;
  const { words, prefix } = phraseOf(query.text, true);
  return prefix && words.length === 1 ? words[0] : undefined;
}
