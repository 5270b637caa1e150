// Whether an input is what its operation takes: every rule of the contract's schema and those that the operation has of
// its own, all violations in one answer.
// A value marked `x-left-to-operation`, such as each event of a batch, is passed on as it came; the operation that
// judges it gets the rules of its schema from here.

import {
  asJson,
  type ErrorDetail,
  forGateway,
  type JsonSchema,
  type Operation,
  type OperationName,
  withoutIgnored,
} from '@tallystick/contract';
import type { OwnViolation, Received } from '../call.ts';
import { createSchemaCheck, type SchemaCheck } from './schema-check.ts';
import { detailsBelow, refusal } from './violations.ts';

/**
 * Gives the input as the operation takes it: without what is ignored, with defaults filled in. Defaults are filled
 * in place, so code that needs the request as it was sent must copy it before.
 */
export type Validate = (
  operation: Operation<OperationName>,
  received: Received,
  rules?: (input: Received['input']) => readonly OwnViolation[],
) => unknown;

export function createValidate(): Validate {
  const checks = new WeakMap<object, SchemaCheck>();

  return (operation, received, rules) => {
    // Every input is an object.
    const input = withoutIgnored(operation.input, received.input) as Received['input'];
    let check = checks.get(operation.input);
    if (check === undefined) {
      check = createSchemaCheck(forGateway(asJson(operation.input)), { fillsDefaults: true });
      checks.set(operation.input, check);
    }
    const isRead = received.violations.length === 0 && received.unknownParameters === undefined;
    const own = rules?.(input) ?? NO_VIOLATIONS;
    const faults = check(input);
    if (faults.length === 0 && isRead && own.length === 0) return input;
    throw refusal(faults, received, own);
  };
}

const NO_VIOLATIONS: readonly OwnViolation[] = [];
const NONE: readonly ErrorDetail[] = [];

/** At most `max` violations of a value, each with its path below `at`, where the value stands in the body. */
export type Rules = (value: unknown, at: string, max?: number) => readonly ErrorDetail[];

/** The rules of one schema. The value is neither changed nor given defaults. */
export function createRules(schema: JsonSchema): Rules {
  const check = createSchemaCheck(schema, { fillsDefaults: false });
  return (value, at, max) => {
    const faults = check(value, max);
    return faults.length === 0 ? NONE : detailsBelow(faults, at);
  };
}
