// The operand of a condition: checks that its type suits the operator and the field, and makes the test of the two.

import {
  CLASSIFICATIONS,
  type ConditionOperator,
  type ConditionValue,
  DETECTORS,
  LIMITS,
} from '@tallystick/contract';
import type { Condition } from './condition.ts';
import { type ConditionPath, isContentRoot, isTextRoot } from './condition-path.ts';

export interface Operand {
  readonly operator: ConditionOperator;
  readonly value: unknown;
  readonly path: ConditionPath;
}

/** `item` is the place of the value, where it stands in a list. */
export type Report = (issue: string, value?: unknown, item?: number) => undefined;

type Test = Omit<Condition, 'path'>;

/** Undefined where something was reported. */
export function readOperand(operand: Operand, report: Report): Test | undefined {
  const { operator, value, path } = operand;
  const issue = misplaced(operand);
  if (issue !== undefined) return report(issue);
  switch (operator) {
    case 'eq':
    case 'ne':
      return isValue(operand, report) ? oneOf([value], path, operator === 'ne') : undefined;
    case 'in':
      return readList(operand, report);
    case 'gt':
    case 'gte':
    case 'lt':
    case 'lte':
      if (!isOrdered(operand, report)) return undefined;
      return { isNegated: false, test: { kind: 'Order', operator, than: value as string | number } };
    case 'contains':
      if (!isValue(operand, report)) return undefined;
      return { isNegated: false, test: { kind: 'Contains', value: value as ConditionValue } };
    case 'startsWith':
      if (typeof value !== 'string') return report('must be text', value);
      if (!isShort(operand, report)) return undefined;
      return { isNegated: false, test: { kind: 'StartsWith', text: value } };
    case 'exists':
      if (typeof value !== 'boolean') return report('must be true or false', value);
      return { isNegated: !value, test: { kind: 'Present' } };
    case 'detects': {
      const detector = DETECTORS.find((each) => each === value);
      if (detector === undefined) return report(`must be one of ${DETECTORS.join(', ')}`, value);
      return { isNegated: false, test: { kind: 'Detects', detector } };
    }
  }
}

/** Why this operator makes no sense at this path. */
function misplaced({ operator, path }: Operand): string | undefined {
  const [root] = path;
  if (operator === 'exists') return undefined;
  if (operator === 'detects')
    return isContentRoot(root) ? undefined : 'can look into context, payload and paths below them only';
  if (path.length === 1 && !isTextRoot(root))
    return `cannot be compared: ${root} is an object; name a member, like ${root}.${EXAMPLES[root]}`;
  return undefined;
}

const EXAMPLES = { actor: 'userId', resource: 'resourceType', context: 'ipAddress', payload: 'amount' };

/** Texts are all there is outside of content, so any other value there is a mistake that would never match. */
function isText({ path: [root] }: Operand): boolean {
  return !isContentRoot(root);
}

function readList({ operator, value, path }: Operand, report: Report): Test | undefined {
  if (!Array.isArray(value)) return report('must be a list', value);
  const items: readonly unknown[] = value;
  if (items.length > LIMITS.conditionItemsMax)
    return report(`must have at most ${LIMITS.conditionItemsMax} items; it has ${items.length}`);
  let isSound = true;
  for (const [i, item] of items.entries()) {
    const reportItem: Report = (issue, value) => report(issue, value, i);
    isSound = isValue({ operator, value: item, path }, reportItem) && isSound;
  }
  return isSound ? oneOf(items, path, false) : undefined;
}

function isValue(operand: Operand, report: Report): boolean {
  const { operator, value, path } = operand;
  if (typeof value === 'string') {
    if (!isShort(operand, report)) return false;
    if (path[0] !== 'classification' || operator === 'contains' || isClassification(value)) return true;
    const words = CLASSIFICATIONS.join(', ');
    report(`must be one of ${words}, or the beginning of one with * behind it`, value);
    return false;
  }
  if (isText(operand)) {
    const hint = value === null ? '; whether there is one is asked with exists' : '';
    report(`must be text${hint}`, value);
    return false;
  }
  if (value === null || typeof value === 'number' || typeof value === 'boolean') return true;
  report('must be text, a number, true, false or null');
  return false;
}

function isClassification(text: string): boolean {
  return CLASSIFICATIONS.some(
    (word) => word === text || (isPrefix(text) && word.startsWith(withoutStar(text))),
  );
}

function isOrdered(operand: Operand, report: Report): boolean {
  const { value, path } = operand;
  if (path[0] === 'classification') {
    report('is not for classifications: they are compared by their words; list those that match', value);
    return false;
  }
  if (typeof value === 'string') return isShort(operand, report);
  if (typeof value === 'number' && !isText(operand)) return true;
  report(`must be ${isText(operand) ? 'text' : 'a number or text'}`, value);
  return false;
}

function isShort({ value }: Operand, report: Report): boolean {
  const isShort = !isOver(value as string, LIMITS.conditionTextLengthMax);
  if (!isShort) report(`must be at most ${LIMITS.conditionTextLengthMax} characters`, value);
  return isShort;
}

/** Counts characters, of which a pair of surrogates is one. */
export function isOver(text: string, max: number): boolean {
  return text.length > max && (text.length > 2 * max || [...text].length > max);
}

/** `values` are sound. */
function oneOf(values: readonly unknown[], [root]: ConditionPath, isNegated: boolean): Test {
  const sound = values as readonly ConditionValue[];
  const isStarred = (value: ConditionValue): value is string =>
    (root === 'action' || root === 'classification') && typeof value === 'string' && isPrefix(value);
  return {
    isNegated,
    test: {
      kind: 'OneOf',
      values: sound.filter((value) => !isStarred(value)),
      prefixes: sound.filter(isStarred).map(withoutStar),
    },
  };
}

function isPrefix(text: string): boolean {
  return text.endsWith('*');
}

function withoutStar(text: string): string {
  return text.slice(0, -1);
}
