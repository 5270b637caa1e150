// The Access rules that concern one reader, and what they say about an event. Deny wins. A rule that allows up to a
// classification takes the place of the reader's clearance for what it matches; of several the lowest counts. A reader
// with several roles is judged by each of them, with the clearance of its own: the highest counts, but what any of them
// denies or withholds is denied or withheld.
//
// Fields that Classification rules withhold are withheld here too, from readers below the event's classification. Context and
// payload are withheld from them anyway, so only names are left. Like Access rules, these apply to every read: what is
// withheld depends on the policies that are active now, not on those that classified the event.

import {
  type Classification,
  CLASSIFICATIONS,
  type Role,
  ROLES,
  type Rule,
  type RuleEffect,
} from '@tallystick/contract';
import { clearanceOf, higher, isAtLeast, lower } from '../access/roles.ts';
import type { TenantRecord } from '../access/tenants.ts';
import type { QueryStep } from '../query/field-path.ts';
import { compileConditions, type HoldsFor } from './compile-condition.ts';
import { conditionsOf } from './condition.ts';
import type { EventFacts } from './event-facts.ts';
import { type EnabledRule, enabledRules } from './policy.ts';
import { withholdablePath } from './withheld-fields.ts';

/** Data alone, since it goes to the threads of the index. */
export interface AccessRules {
  /** Each with its own clearance, which counts where no rule says otherwise. */
  readonly roles: readonly RoleClearance[];
  /** No rule raises the reader above it. */
  readonly ceiling: Classification;
  readonly rules: readonly AccessRule[];
  /** Rules of Classification policies that withhold names from readers below an event's classification. */
  readonly classifying: readonly AccessRule[];
}

export interface RoleClearance {
  readonly role: Role;
  readonly clearance: Classification;
}

export interface AccessRule {
  readonly policyId: string;
  readonly policyName: string;
  readonly policyVersion: number;
  readonly ruleId: string;
  readonly conditions: Rule['conditions'];
  readonly effect: RuleEffect;
}

/** A field to withhold: its path as it was written, and the steps of that. */
export interface WithheldField {
  readonly path: string;
  readonly steps: readonly QueryStep[];
}

export interface AccessJudgement {
  readonly isDenied: boolean;
  readonly clearance: Classification;
  readonly withheldFields: readonly WithheldField[];
  /** Those that match, in the order of their policies. */
  readonly matched: readonly AccessRule[];
}

/** Undefined: none concerns this reader. */
export function accessRulesOf(
  { policies }: Pick<TenantRecord, 'policies'>,
  { roles, clearance }: { readonly roles: readonly Role[]; readonly clearance: Classification },
): AccessRules | undefined {
  const rules = enabledRules(policies, 'Access')
    .filter(({ effect }) => effect.roles?.some((role) => roles.includes(role)))
    .map(accessRule);
  // Nothing is above the highest clearance, unless a rule lowers it.
  const isBelowNothing = rules.length === 0 && CLASSIFICATIONS.at(-1) === clearance;
  const classifying = isBelowNothing
    ? []
    : enabledRules(policies, 'Classification').map(accessRule).flatMap(withholdingNames);
  if (rules.length + classifying.length === 0) return undefined;
  // A credential may state a clearance, which takes the place of those of its roles; one below them is meant as a limit.
  const ofRoles = clearanceOf(undefined, roles);
  const isStated = clearance !== ofRoles;
  return {
    roles: roles.map((role) => ({ role, clearance: isStated ? clearance : ROLES[role].clearance })),
    ceiling: lower(clearance, ofRoles) === ofRoles ? CLASSIFICATIONS.at(-1)! : clearance,
    rules,
    classifying,
  };
}

function accessRule({ policy, ruleId, conditions, effect }: EnabledRule): AccessRule {
  const { policyId, name: policyName, version: policyVersion } = policy;
  return { policyId, policyName, policyVersion, ruleId, conditions, effect };
}

/** The rule reduced to the names that it withholds; nothing where it withholds none. */
function withholdingNames(rule: AccessRule): AccessRule[] {
  const names = fieldsWithheldBy(rule.effect).filter(
    ({ steps: [root] }) => root === 'actor' || root === 'resource',
  );
  return names.length === 0 ? [] : [{ ...rule, effect: { redactFields: names.map(({ path }) => path) } }];
}

/** Of one role, which rules decide whether the reader is cleared for a classification. */
export interface ClearanceRules {
  /** By the clearance that the reader came with, where no rule matches. */
  readonly isCleared: boolean;
  readonly raising: readonly AccessRule[];
  /** The lowest of the rules that match counts, so one of these is enough. */
  readonly lowering: readonly AccessRule[];
}

export function clearanceRules(
  { roles, ceiling, rules }: AccessRules,
  classification: Classification,
): ClearanceRules[] {
  const reaches = (other: Classification) => isAtLeast(lower(other, ceiling), classification);
  return roles.map(({ role, clearance }) => {
    const own = rules.filter(
      ({ effect }) => effect.maxClassification !== undefined && effect.roles!.includes(role),
    );
    return {
      isCleared: reaches(clearance),
      raising: own.filter(({ effect }) => reaches(effect.maxClassification!)),
      lowering: own.filter(({ effect }) => !reaches(effect.maxClassification!)),
    };
  });
}

export type JudgeAccess = (facts: EventFacts) => AccessJudgement;

/** Compiled once for each object. */
const compiled = new WeakMap<AccessRules, JudgeAccess>();

export function accessJudge(access: AccessRules): JudgeAccess {
  let judge = compiled.get(access);
  if (judge === undefined) compiled.set(access, (judge = compile(access)));
  return judge;
}

interface CompiledRule {
  readonly rule: AccessRule;
  readonly holdsFor: HoldsFor;
  readonly withheldFields: readonly WithheldField[];
}

function compile({ rules, classifying, roles, ceiling }: AccessRules): JudgeAccess {
  const [ofAccess, ofClassification] = [rules.map(compileRule), classifying.map(compileRule)];
  return (facts) => {
    const matching = ({ holdsFor }: CompiledRule) => holdsFor(facts);
    const matched = ofAccess.filter(matching);
    const clearance = lower(clearanceBy(matched, roles), ceiling);
    const isBelow = facts.classification !== undefined && !isAtLeast(clearance, facts.classification);
    const all = isBelow ? [...matched, ...ofClassification.filter(matching)] : matched;
    return {
      isDenied: matched.some(({ rule }) => rule.effect.access === 'Deny'),
      clearance,
      withheldFields: all.flatMap(({ withheldFields }) => withheldFields),
      matched: all.map(({ rule }) => rule),
    };
  };
}

/** What may be done with an event. */
type Allowed = Omit<AccessJudgement, 'matched'>;

/** By classification; compiled once for each object. */
const least = new WeakMap<AccessRules, Map<Classification, Allowed>>();

/**
 * Of an event whose content is gone: the least that the rules may have allowed. Of what conditions ask for only the classification is
 * left, so a rule that asks for more may have matched, or not.
 */
export function leastAllowed(access: AccessRules, classification: Classification): Allowed {
  let known = least.get(access);
  if (known === undefined) least.set(access, (known = new Map()));
  let allowed = known.get(classification);
  if (allowed === undefined) known.set(classification, (allowed = leastBy(access, classification)));
  return allowed;
}

function leastBy(
  { rules, classifying, roles, ceiling }: AccessRules,
  classification: Classification,
): Allowed {
  const withMatch = (each: AccessRule) => ({ ...compileRule(each), match: matchOf(each, classification) });
  const possible = rules.map(withMatch).filter(({ match }) => match !== 'Never');
  const certain = possible.filter(({ match }) => match === 'Always');
  // A rule takes the place of the role's clearance only where it matches, and of several the lowest counts.
  const leastOf = (role: RoleClearance) => lower(clearanceBy(certain, [role]), clearanceBy(possible, [role]));
  const clearance = lower(roles.map(leastOf).reduce(higher), ceiling);
  const below = isAtLeast(clearance, classification)
    ? []
    : classifying.map(withMatch).filter(({ match }) => match !== 'Never');
  return {
    isDenied: possible.some(({ rule }) => rule.effect.access === 'Deny'),
    clearance,
    withheldFields: [...possible, ...below].flatMap(({ withheldFields }) => withheldFields),
  };
}

/** Whether a rule matches an event of which only the classification is known. */
function matchOf(rule: AccessRule, classification: Classification): 'Always' | 'Perhaps' | 'Never' {
  const conditions = conditionsOf(rule);
  const known = conditions.filter(({ path: [root] }) => root === 'classification');
  // No other fact is asked for.
  if (!compileConditions(known)({ classification } as EventFacts)) return 'Never';
  return known.length === conditions.length ? 'Always' : 'Perhaps';
}

function compileRule(rule: AccessRule): CompiledRule {
  return {
    rule,
    holdsFor: compileConditions(conditionsOf(rule)),
    withheldFields: fieldsWithheldBy(rule.effect),
  };
}

function clearanceBy(matched: readonly CompiledRule[], roles: readonly RoleClearance[]): Classification {
  return roles
    .map(({ role, clearance }) => {
      const allowed = matched.flatMap(({ rule: { effect } }) =>
        effect.roles?.includes(role) && effect.maxClassification !== undefined
          ? [effect.maxClassification]
          : [],
      );
      return allowed.length === 0 ? clearance : allowed.reduce(lower);
    })
    .reduce(higher);
}

/** A rule that is kept is sound, so each is a path. */
export function fieldsWithheldBy({ redactFields = [] }: RuleEffect): WithheldField[] {
  return redactFields.flatMap((path) => {
    const steps = withholdablePath(path);
    return typeof steps === 'string' ? [] : [{ path, steps }];
  });
}
