// Whether an input is what its operation takes: every rule of the contract's schema and those that the operation has of
// its own, all violations in one answer.
// What is marked `x-left-to-operation`, such as each event of a batch, is passed on as it came; whoever judges it
// gets the rules of its schema from here.

import { Ajv, type Options, type ValidateFunction } from 'ajv';
import {
  ANNOTATIONS,
  asJson,
  type ErrorDetail,
  FORMATS,
  forGateway,
  type JsonSchema,
  type Operation,
  type OperationName,
  withoutIgnored,
} from '@tallystick/contract';
import type { OwnViolation, Received } from '../call.ts';
import type { OwnRules } from '../operations.ts';
import { detailsBelow, refusal } from './violations.ts';

/**
 * Gives the input as the operation takes it: without what is ignored, with defaults filled in. Defaults are filled
 * in place, so whatever needs the request as it was sent must have taken it before.
 */
export type Validate = (operation: Operation<OperationName>, received: Received, rules?: OwnRules) => unknown;

export function createValidate(): Validate {
  const ajv = createAjv({ useDefaults: true });
  const compiled = new WeakMap<object, ValidateFunction>();

  return (operation, received, rules) => {
    // Every input is an object.
    const input = withoutIgnored(operation.input, received.input) as Received['input'];
    let validates = compiled.get(operation.input);
    if (validates === undefined) {
      validates = ajv.compile(forGateway(asJson(operation.input)));
      compiled.set(operation.input, validates);
    }
    const isRead = received.violations.length === 0 && received.unknownParameters === undefined;
    const own = rules?.(input) ?? NO_VIOLATIONS;
    if (validates(input) && isRead && own.length === 0) return input;
    throw refusal(asJson(operation.input), validates.errors ?? [], received, input, own);
  };
}

const NO_VIOLATIONS: readonly OwnViolation[] = [];
const NONE: readonly ErrorDetail[] = [];

/** The rules of one schema. The value is neither changed nor given defaults; `at` is where it stands in the body. */
export function createRules(schema: JsonSchema): (value: unknown, at: string) => readonly ErrorDetail[] {
  const validates = createAjv({ useDefaults: false }).compile(schema);
  return (value, at) => (validates(value) ? NONE : detailsBelow(validates.errors ?? [], value, at));
}

function createAjv(options: Options): Ajv {
  const ajv = new Ajv({
    allErrors: true,
    verbose: true,
    strict: true,
    strictTypes: false,
    strictRequired: false,
    discriminator: true,
    ...options,
  });
  for (const [name, accepts] of Object.entries(FORMATS)) ajv.addFormat(name, accepts);
  for (const name of Object.keys(ANNOTATIONS)) ajv.addKeyword(name);
  return ajv;
}
