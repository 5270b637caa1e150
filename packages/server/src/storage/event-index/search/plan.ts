// What a segment is asked. A plan says for each doc that it is found, that it is not, or that only the event itself can tell:
// `Between` gives what is found for sure, and what may be.

import type { IndexSpan } from '../../../streams/removal/removal.ts';
import type { Operator } from '../../../query/query.ts';
import type { Section } from '../segments/terms.ts';
import type { Moment } from '../segments/times.ts';

export type Plan =
  | { readonly of: 'All' }
  | { readonly of: 'None' }
  | { readonly of: 'And'; readonly plans: readonly Plan[] }
  | { readonly of: 'Or'; readonly plans: readonly Plan[] }
  | { readonly of: 'Not'; readonly plan: Plan }
  | { readonly of: 'Between'; readonly sure: Plan; readonly possible: Plan }
  | TermPlan
  | RunPlan
  | PhrasePlan
  | NumberPlan
  | TimePlan
  | { readonly of: 'Traits'; readonly numbers: readonly number[] }
  /** Docs of these parts of the log. */
  | { readonly of: 'Within'; readonly spans: readonly IndexSpan[] }
  | { readonly of: 'EventId'; readonly first: string; readonly last: string };

/** Docs that have the term in one of the sections. */
export interface TermPlan {
  readonly of: 'Term';
  readonly sections: readonly Section[];
  readonly term: string;
}

/** Docs that have a term with this beginning. */
export interface RunPlan {
  readonly of: 'Run';
  readonly sections: readonly Section[];
  readonly prefix: string;
  /** Of facts, what must follow: nothing but how it is written, or a spelling with this beginning. */
  readonly fact?: 'Whole' | { readonly letterEnd: number; readonly spelling: string };
}

/** Docs in which these words stand side by side in one value, each behind the prefix. */
export interface PhrasePlan {
  readonly of: 'Phrase';
  readonly sections: readonly Section[];
  readonly prefix: string;
  readonly words: readonly string[];
  /** The last word is a beginning. */
  readonly isBeginning: boolean;
}

/** Docs with a number at the path for which the comparison holds. */
export interface NumberPlan {
  readonly of: 'Number';
  readonly sections: readonly Section[];
  /** Before the place. */
  readonly prefix: string;
  readonly operator: Operator;
  readonly number: number;
}

/** Docs whose time is not below the one nor above the other. */
export interface TimePlan {
  readonly of: 'Time';
  readonly column: 'timestamp' | 'receivedAt';
  readonly from?: Moment | undefined;
  readonly to?: Moment | undefined;
}

export const ALL: Plan = { of: 'All' };
export const NONE: Plan = { of: 'None' };

export function and(plans: readonly Plan[]): Plan {
  const asked = plans.filter(({ of }) => of !== 'All');
  if (asked.some(({ of }) => of === 'None')) return NONE;
  return asked.length === 0 ? ALL : asked.length === 1 ? asked[0]! : { of: 'And', plans: asked };
}

export function or(plans: readonly Plan[]): Plan {
  const asked = plans.filter(({ of }) => of !== 'None');
  if (asked.some(({ of }) => of === 'All')) return ALL;
  return asked.length === 0 ? NONE : asked.length === 1 ? asked[0]! : { of: 'Or', plans: asked };
}

export function not(plan: Plan): Plan {
  if (plan.of === 'All') return NONE;
  if (plan.of === 'None') return ALL;
  return plan.of === 'Not' ? plan.plan : { of: 'Not', plan };
}

/** A word, or all that begin with it. */
export function wordIn(sections: readonly Section[], term: string, isBeginning: boolean): Plan {
  return isBeginning ? { of: 'Run', sections, prefix: term } : { of: 'Term', sections, term };
}

/** Of phrases only that their words are there. */
export function withoutPlaces(plan: Plan): Plan {
  if (plan.of === 'And') return and(plan.plans.map(withoutPlaces));
  if (plan.of === 'Or') return or(plan.plans.map(withoutPlaces));
  if (plan.of === 'Not') return not(withoutPlaces(plan.plan));
  if (plan.of === 'Between')
    return { of: 'Between', sure: withoutPlaces(plan.sure), possible: withoutPlaces(plan.possible) };
  if (plan.of !== 'Phrase') return plan;
  const { sections, prefix, words, isBeginning } = plan;
  return and(words.map((word, i) => wordIn(sections, prefix + word, isBeginning && i === words.length - 1)));
}

/** Whether places of words must be read for it. */
export function hasPhrase(plan: Plan): boolean {
  if (plan.of === 'And' || plan.of === 'Or') return plan.plans.some(hasPhrase);
  if (plan.of === 'Not') return hasPhrase(plan.plan);
  if (plan.of === 'Between') return hasPhrase(plan.sure) || hasPhrase(plan.possible);
  return plan.of === 'Phrase';
}

/** Whether no doc must ever be looked at for it. */
export function isSure(plan: Plan): boolean {
  if (plan.of === 'And' || plan.of === 'Or') return plan.plans.every(isSure);
  if (plan.of === 'Not') return isSure(plan.plan);
  return !['Between', 'Phrase', 'Number'].includes(plan.of);
}
