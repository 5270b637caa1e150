// Access rules as plans of the index: which docs they deny, whose content they show or withhold, and in which they withhold fields.
// Rules judge the event itself, case included, whatever the reader may see of it; what the index cannot tell is looked at.

import { type Classification, CLASSIFICATIONS } from '@tallystick/contract';
import type { AccessRules } from '../../../policies/access-rules.ts';
import {
  accessQuery,
  type QueriedCondition,
  type QueriedRole,
  type QueriedRule,
} from '../../../query/access-query.ts';
import {
  FACT_LETTERS,
  keysOf,
  NAME_LETTERS,
  OPTIONAL_FACTS,
  type Traits,
  type WholeFact,
} from '../segments/terms.ts';
import { ALL, and, isSure, NONE, not, or, type Plan } from './plan.ts';
import { contentPresence, exactFact, factPresence, perhaps, spelledFact, traits } from './plan-leaves.ts';

export class AccessPlans {
  readonly denied: Plan;
  /** Docs in which fields are withheld; all leaves are unsure in them. */
  readonly fieldsWithheld: Plan;
  /** Each term of a question asks for it. */
  readonly #cleared = new Map<Classification, Plan>();
  readonly #rolesFor: (classification: Classification) => readonly QueriedRole[];

  constructor(access: AccessRules) {
    const { denying, withholding, withholdingBelow, cleared } = accessQuery(access);
    this.denied = anyOf(denying);
    this.#rolesFor = cleared;
    this.fieldsWithheld = or([anyOf(withholding), and([anyOf(withholdingBelow), this.#notCleared()])]);
  }

  /** Whether the index can tell by itself what the reader sees: no field is withheld, and no rule must be asked of the event. */
  get isSure(): boolean {
    const all = [this.denied, ...CLASSIFICATIONS.map((each) => this.cleared(each))];
    return this.fieldsWithheld.of === 'None' && all.every(isSure);
  }

  /** Docs for which the reader is cleared for this classification. */
  cleared(classification: Classification): Plan {
    let plan = this.#cleared.get(classification);
    if (plan === undefined) {
      const roles = this.#rolesFor(classification).map(({ isCleared, raising, lowering }) =>
        and([not(anyOf(lowering)), isCleared ? ALL : anyOf(raising)]),
      );
      this.#cleared.set(classification, (plan = or(roles)));
    }
    return plan;
  }

  /** Docs for whose classification the reader is not cleared. */
  #notCleared(): Plan {
    return or(
      CLASSIFICATIONS.map((each) =>
        and([traits(({ classification }) => classification === each), not(this.cleared(each))]),
      ),
    );
  }
}

function anyOf(rules: readonly QueriedRule[]): Plan {
  return or(rules.map((conditions) => and(conditions.map(conditionPlan))));
}

/** The docs for which it holds. */
function conditionPlan(condition: QueriedCondition): Plan {
  const found = testPlan(condition);
  return condition.isNegated ? not(found) : found;
}

/** The docs that have a value at the path which passes the test. */
function testPlan(condition: QueriedCondition): Plan {
  const { path, isOfContent, passes } = condition;
  const [, member] = path;
  if (isOfContent) return contentPlan(condition);
  const trait = TRAIT_PATHS[path.join('.')];
  if (trait !== undefined) return traits((each) => passes(each[trait]));
  const fact = path.join('.');
  if (fact in FACT_LETTERS) return factPlan(fact as WholeFact, condition);
  if (fact in NAME_LETTERS) return perhaps(factPresence(NAME_LETTERS[fact as keyof typeof NAME_LETTERS]));
  // An actor or a resource as a whole is there; no other member of one is.
  return member === undefined && condition.test.kind === 'Present' ? ALL : NONE;
}

const TRAIT_PATHS: Readonly<Record<string, keyof Traits>> = {
  classification: 'classification',
  outcome: 'outcome',
  'actor.actorType': 'actorType',
};

function factPlan(fact: WholeFact, { test }: QueriedCondition): Plan {
  const present = OPTIONAL_FACTS.includes(fact) ? factPresence(FACT_LETTERS[fact]) : ALL;
  switch (test.kind) {
    case 'OneOf':
      return or([
        ...test.values.map((value) => (typeof value === 'string' ? exactFact(fact, value) : NONE)),
        ...test.prefixes.map((prefix) => spelledFact(fact, prefix)),
      ]);
    case 'StartsWith':
      return spelledFact(fact, test.text);
    case 'Present':
      return present;
    case 'Order':
    case 'Contains':
    case 'Detects':
      return perhaps(present);
  }
}

/**
 * Only that there may be a value at the path is known: words are folded, and not all of a large event are there; and where a
 * value stands in a list is not known either.
 */
function contentPlan({ path }: QueriedCondition): Plan {
  return perhaps(contentPresence(CLASSIFICATIONS, keysOf(path)));
}
