// For tests only: a strict validator over the contract's schemas, set up as a server would set it up.

import { Ajv } from 'ajv';
import type { TSchema } from 'typebox';
import { FORMATS } from './formats.ts';
import { ANNOTATIONS } from './schema.ts';
import { keysOf } from './typed-object.ts';

const ajv = new Ajv({ strict: true, allErrors: true, discriminator: true, formats: FORMATS });
ajv.addVocabulary(keysOf(ANNOTATIONS));

/** The paths that a value breaks, each with the keyword of the broken rule; empty when the value is accepted. */
export function faultsOf(schema: TSchema, value: unknown): string[] {
  const validate = ajv.compile(schema);
  if (validate(value)) return [];
  return (validate.errors ?? []).map((error) => `${error.instancePath} ${error.keyword}`).sort();
}
