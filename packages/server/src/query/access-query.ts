// The Access rules of a reader in the form that an index makes its plan of: for each rule its conditions, and which rules deny,
// withhold fields, or decide whether the reader is cleared for a classification.

import type { Classification } from '@tallystick/contract';
import {
  type AccessRule,
  type AccessRules,
  clearanceRules,
  fieldsWithheldBy,
} from '../policies/access-rules.ts';
import { type Condition, conditionsOf } from '../policies/condition.ts';
import { isContentRoot } from '../policies/condition-path.ts';
import { valueTest } from '../policies/value-test.ts';

export interface QueriedCondition extends Condition {
  /** It is about context or payload. */
  readonly isOfContent: boolean;
  readonly passes: (value: unknown) => boolean;
}

/** All of them must hold. */
export type QueriedRule = readonly QueriedCondition[];

/** Of one of the reader's roles: it is cleared for what no rule lowers, if it is so by itself or a rule raises it. */
export interface QueriedRole {
  readonly isCleared: boolean;
  readonly raising: readonly QueriedRule[];
  readonly lowering: readonly QueriedRule[];
}

export interface AccessQuery {
  readonly denying: readonly QueriedRule[];
  readonly withholding: readonly QueriedRule[];
  /** They withhold fields where the reader is not cleared for the event. */
  readonly withholdingBelow: readonly QueriedRule[];
  /** One role is enough. */
  readonly cleared: (classification: Classification) => readonly QueriedRole[];
}

export function accessQuery(access: AccessRules): AccessQuery {
  const { rules, classifying } = access;
  const denying = rules.filter(({ effect }) => effect.access === 'Deny');
  const withholding = rules.filter(({ effect }) => fieldsWithheldBy(effect).length > 0);
  return {
    denying: denying.map(queriedRule),
    withholding: withholding.map(queriedRule),
    withholdingBelow: classifying.map(queriedRule),
    cleared: (classification) =>
      clearanceRules(access, classification).map(({ isCleared, raising, lowering }) => ({
        isCleared,
        raising: raising.map(queriedRule),
        lowering: lowering.map(queriedRule),
      })),
  };
}

function queriedRule(rule: AccessRule): QueriedRule {
  return conditionsOf(rule).map(queriedCondition);
}

function queriedCondition(condition: Condition): QueriedCondition {
  return {
    ...condition,
    isOfContent: isContentRoot(condition.path[0]),
    passes: valueTest(condition.test),
  };
}
