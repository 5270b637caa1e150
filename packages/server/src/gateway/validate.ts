// Whether an input is what its operation takes: every rule of the contract's schema, all violations in one answer.
// What is marked `x-left-to-operation`, such as each event of a batch, is passed on as it came.

import { Ajv, type ValidateFunction } from 'ajv';
import {
  ANNOTATIONS,
  asJson,
  type ErrorDetail,
  FORMATS,
  forGateway,
  type Operation,
  type OperationName,
  withoutIgnored,
} from '@tallystick/contract';
import { type Place, refusal } from './violations.ts';

/** What a protocol made of a request, before anything in it has been validated. */
export interface Received {
  readonly input: Readonly<Record<string, unknown>>;
  /** Rules of JSON itself that the body breaks: a duplicate key, a number that no double holds. */
  readonly violations: readonly ErrorDetail[];
  /** Where a member of the input came from, and what its sender calls it; a body has no name of its own. */
  readonly placeOf: (member: string) => Place;
}

/**
 * Gives the input as the operation takes it: without what is ignored, with defaults filled in. Defaults are filled
 * in place, so whatever needs the request as it was sent must have taken it before.
 */
export type Validate = (operation: Operation<OperationName>, received: Received) => unknown;

export function createValidate(): Validate {
  const ajv = new Ajv({
    allErrors: true,
    verbose: true,
    strict: true,
    strictTypes: false,
    strictRequired: false,
    useDefaults: true,
    discriminator: true,
  });
  for (const [name, accepts] of Object.entries(FORMATS)) ajv.addFormat(name, accepts);
  for (const name of Object.keys(ANNOTATIONS)) ajv.addKeyword(name);
  const compiled = new WeakMap<object, ValidateFunction>();

  return (operation, received) => {
    const input = withoutIgnored(operation.input, received.input);
    let validates = compiled.get(operation.input);
    if (validates === undefined) {
      validates = ajv.compile(forGateway(asJson(operation.input)));
      compiled.set(operation.input, validates);
    }
    if (validates(input) && received.violations.length === 0) return input;
    throw refusal(asJson(operation.input), validates.errors ?? [], received, input);
  };
}
