// Conditions as they are sent become a list of which all must hold, or all of their faults. The language is that of
// `Conditions` in the contract. What it leaves open is settled here, and argued in docs/decisions/0006:
//
// - `{ "payload": {} }` is a step with nothing below it: it asks nothing, and every event satisfies it.
// - The same path may stand several times, dotted and nested: all of them must hold.
// - Fields outside of content are texts, so they are compared with texts only; null there would be `exists: false`.
// - Of `action` and `classification`, which never have a `*`, one at the end is a prefix in `eq`, `ne` and `in`.
// - Classifications have no order here: by code point, `gte: Confidential` would be all of them.
// - `actor`, `resource`, `context` and `payload` themselves are asked for with `exists` only, and content with `detects`.
//
// Whatever is sent, at most as many paths are read as a sound rule has, to at most as many steps; so the cost of refusing
// is bounded by the size of the text.

import {
  CONDITION_OPERATORS,
  type ConditionOperator,
  type ConditionValue,
  cutText,
  type Detector,
  type ErrorDetail,
  LIMITS,
  type RuleConfiguration,
} from '@tallystick/contract';
import type { QueryStep } from '../query/field-path.ts';
import { isOver, readOperand } from './condition-operand.ts';
import {
  CONDITION_ROOTS,
  type ConditionPath,
  type ConditionRoot,
  isConditionRoot,
  isTextRoot,
  readSteps,
} from './condition-path.ts';

/** One test of the values at one path. */
export interface Condition {
  readonly path: ConditionPath;
  /** `ne` and `exists: false`: holds where no value passes the test, so also where there is none. */
  readonly isNegated: boolean;
  readonly test: ValueTest;
}

/** A value that is missing passes none. */
export type ValueTest =
  | {
      readonly kind: 'OneOf';
      /** Compared by JSON type and value. */
      readonly values: readonly ConditionValue[];
      /** Beginnings of texts. */
      readonly prefixes: readonly string[];
    }
  | {
      readonly kind: 'Order';
      readonly operator: 'gt' | 'gte' | 'lt' | 'lte';
      readonly than: string | number;
    }
  | { readonly kind: 'Contains'; readonly value: ConditionValue }
  | { readonly kind: 'StartsWith'; readonly text: string }
  | { readonly kind: 'Present' }
  | { readonly kind: 'Detects'; readonly detector: Detector };

export type ParsedConditions =
  | { readonly conditions: readonly Condition[]; readonly faults?: undefined }
  | { readonly conditions?: undefined; readonly faults: readonly ErrorDetail[] };

/** Of a rule that was accepted. Throws where it is not sound: without its conditions the rule would match everything. */
export function conditionsOf({
  conditions = {},
  ruleId,
}: Pick<RuleConfiguration, 'conditions' | 'ruleId'>): readonly Condition[] {
  const parsed = parseConditions(conditions, 'conditions');
  if (parsed.faults === undefined) return parsed.conditions;
  throw new Error(`the conditions of the rule ${ruleId} are not sound: ${JSON.stringify(parsed.faults)}`);
}

/** `at` is where they were sent: `rules[2].conditions`. The check stops at `max` faults, and never before the first. */
export function parseConditions(
  conditions: unknown,
  at: string,
  max: number = LIMITS.errorDetailsMax,
): ParsedConditions {
  const reader = new ConditionReader(at, Math.max(1, max));
  reader.read(conditions);
  return reader.faults.length > 0 ? { faults: reader.faults } : { conditions: reader.conditions };
}

/** Lists by the name of the field that they are about. */
const LISTS: ReadonlyMap<unknown, ConditionRoot> = new Map([
  ['actions', 'action'],
  ['classifications', 'classification'],
]);

/** A path so far. */
interface Place {
  readonly steps: ConditionPath;
  /** As it was sent, its keys joined by dots. */
  readonly written: string;
}

type Members = Readonly<Record<string, unknown>>;

class ConditionReader {
  readonly conditions: Condition[] = [];
  readonly faults: ErrorDetail[] = [];
  readonly #at: string;
  readonly #max: number;
  #count = 0;

  constructor(at: string, max: number) {
    this.#at = at;
    this.#max = max;
  }

  read(conditions: unknown): void {
    if (isObject(conditions)) this.#readMembers(conditions, Object.keys(conditions), undefined);
    else this.#report(this.#at, 'must be an object', conditions);
  }

  get #isDone(): boolean {
    return this.#count > LIMITS.conditionsMax || this.faults.length >= this.#max;
  }

  /** Each of them is a path, or the rest of one below `above`. */
  #readMembers(members: Members, keys: readonly string[], above: Place | undefined): void {
    for (const key of keys) {
      if (this.#isDone) return;
      this.#readMember(key, members[key], above);
    }
  }

  #readMember(key: string, value: unknown, above: Place | undefined): void {
    // A character is at most two units: a key that is longer is too long without being joined to anything.
    const isTooLong = key.length > 2 * LIMITS.conditionPathLengthMax;
    const written = joined(above?.written, isTooLong ? cutText(key) : key);
    const field = joined(this.#at, written);
    if (isTooLong || isOver(written, LIMITS.conditionPathLengthMax))
      return this.#refuse(field, `is a path of over ${LIMITS.conditionPathLengthMax} characters`);
    const read = readSteps(key, above === undefined);
    if (typeof read === 'string') return this.#refuse(field, `is no path: ${read}`);
    const steps = [...(above?.steps ?? []), ...read];
    if (steps.length > LIMITS.conditionPathStepsMax)
      return this.#refuse(field, `is a path of over ${LIMITS.conditionPathStepsMax} steps`);
    const listed = LISTS.get(steps[0]);
    if (listed !== undefined && steps.length === 1) return this.#readList(listed, value, field);
    if (!isPath(steps)) return this.#refuse(field, unknownPath(steps));
    this.#readValue(value, { steps, written });
  }

  #readValue(value: unknown, place: Place): void {
    const field = joined(this.#at, place.written);
    if (Array.isArray(value)) this.#readOperator('in', value, place, field);
    else if (isObject(value)) this.#readObject(value, place, field);
    else this.#readOperator('eq', value, place, field);
  }

  #readObject(value: Members, place: Place, field: string): void {
    const keys = Object.keys(value);
    const operators = CONDITION_OPERATORS.filter((key) => Object.hasOwn(value, key));
    if (keys.length === 0) return this.#countOne();
    if (operators.length === 0) return this.#readMembers(value, keys, place);
    if (operators.length < keys.length) {
      const other = keys.find((key) => !operators.some((operator) => operator === key))!;
      this.#refuse(field, `mixes operators with other keys, such as ${cutText(other)}`);
    }
    for (const operator of operators) {
      if (this.#isDone) return;
      this.#readOperator(operator, value[operator], place, joined(field, operator));
    }
  }

  /** `actions` and `classifications`. */
  #readList(root: ConditionRoot, value: unknown, field: string): void {
    this.#readOperator('in', value, { steps: [root], written: '' }, field);
  }

  #readOperator(operator: ConditionOperator, value: unknown, { steps: path }: Place, field: string): void {
    this.#countOne();
    if (this.#isDone) return;
    const read = readOperand({ operator, value, path }, (issue, value, item) =>
      this.#report(item === undefined ? field : `${field}[${item}]`, issue, value),
    );
    if (read !== undefined) this.conditions.push({ path, ...read });
  }

  /** What is refused as a whole counts as one condition, so that their number bounds the work. */
  #refuse(field: string, issue: string): void {
    this.#countOne();
    if (!this.#isDone) this.#report(field, issue);
  }

  #countOne(): void {
    if (++this.#count === LIMITS.conditionsMax + 1)
      this.#report(this.#at, `must have at most ${LIMITS.conditionsMax} conditions; it has more`);
  }

  /** A value is shown where it is plain. */
  #report(field: string, issue: string, value?: unknown): undefined {
    if (this.faults.length >= this.#max) return;
    const isPlain = value === null || ['string', 'number', 'boolean'].includes(typeof value);
    const shown = typeof value === 'string' ? cutText(value) : value;
    this.faults.push({ field: cutText(field), issue, ...(isPlain && { value: shown }) });
  }
}

/** Below a text there is nothing. */
function isPath(steps: readonly QueryStep[]): steps is ConditionPath {
  const [root] = steps;
  return isConditionRoot(root) && (steps.length === 1 || !isTextRoot(root));
}

function unknownPath([root]: readonly QueryStep[]): string {
  if (isConditionRoot(root)) return `is no operator; known are ${CONDITION_OPERATORS.join(', ')}`;
  if (LISTS.has(root)) return `is no path: ${String(root)} is a list of texts`;
  return `is not a field that conditions know; known are ${[...CONDITION_ROOTS, ...LISTS.keys()].join(', ')}`;
}

function joined(above: string | undefined, key: string): string {
  if (key === '') return `${above ?? ''}[""]`;
  return above === undefined || above === '' || key.startsWith('[') ? (above ?? '') + key : `${above}.${key}`;
}

function isObject(value: unknown): value is Members {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
