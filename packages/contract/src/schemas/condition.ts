// Conditions: the one filter language of policies, subscriptions, alerts and exports.
//
//   { "resource.resourceType": "Invoice", "payload.amount": { "gt": 1000 }, "actions": ["Delete.*"] }
//
// A key is a path: action, classification, outcome, correlationId, or anything below actor, resource, context and
// payload; `$.payload.lines[0].sku` and `[*]` are understood. A bare value means eq, a list means in, an object of
// operators is those operators, and any other object is a step in the path. `actions` and `classifications` are
// the singular fields with `in`; of these two fields a trailing `*` is a prefix. `detects` is for context, payload and
// paths below them. All must hold. A missing field satisfies only `ne` and `exists: false`. JSON Schema cannot say all
// this: the schema holds the outline, `parseConditions` of the server the rest.

import { Type } from '../type.ts';

export const CONDITION_OPERATORS = [
  'eq',
  'ne',
  'gt',
  'gte',
  'lt',
  'lte',
  'in',
  'contains',
  'startsWith',
  'exists',
  'detects',
] as const;
export type ConditionOperator = (typeof CONDITION_OPERATORS)[number];

/** What `detects` can look for in texts and numbers. */
export const DETECTORS = ['CardNumber', 'EmailAddress', 'Iban', 'IpAddress', 'NationalId', 'Secret'] as const;
export type Detector = (typeof DETECTORS)[number];

export type ConditionValue = string | number | boolean | null;

export interface ConditionOperators {
  readonly eq?: ConditionValue;
  readonly ne?: ConditionValue;
  readonly gt?: string | number;
  readonly gte?: string | number;
  readonly lt?: string | number;
  readonly lte?: string | number;
  readonly in?: readonly ConditionValue[];
  readonly contains?: ConditionValue;
  readonly startsWith?: string;
  readonly exists?: boolean;
  readonly detects?: Detector;
}

export interface Conditions {
  readonly [path: string]: ConditionValue | readonly ConditionValue[] | ConditionOperators | Conditions;
}

export const Conditions = Type.Unsafe<Conditions>({
  type: 'object',
  additionalProperties: true,
  description:
    `Paths with a value, a list (in) or operators (\`${CONDITION_OPERATORS.join(' ')}\`); AND. ` +
    `\`detects\` takes \`${DETECTORS.join('`, `')}\`.`,
});
