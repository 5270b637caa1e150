// Conditions: the one filter language of policies, subscriptions, alerts and exports.
//
//   { "resource.resourceType": "Invoice", "payload.amount": { "gt": 1000 }, "actions": ["Delete.*"] }
//
// A key is a path: action, classification, outcome, correlationId, or anything below actor, resource, context and
// payload; `$.payload.lines[0].sku` and `[*]` are understood. A bare value means eq, a list means in, an object of
// operators is those operators, and any other object is a step in the path. `actions` and `classifications` are
// the singular fields with `in`; a trailing `*` is a prefix there. All must hold. A missing field satisfies only
// `ne` and `exists: false`. JSON Schema cannot say all this: the schema holds the outline, the compiler the rest.

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
] as const;

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
}

export interface Conditions {
  readonly [path: string]: ConditionValue | readonly ConditionValue[] | ConditionOperators | Conditions;
}

export const Conditions = Type.Unsafe<Conditions>({
  type: 'object',
  additionalProperties: true,
  description: `Paths with a value, a list (in) or operators (\`${CONDITION_OPERATORS.join(' ')}\`); AND.`,
});
