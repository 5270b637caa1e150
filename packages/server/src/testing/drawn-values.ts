// Random values of a schema, from its keywords alone: a change of the contract is tried by tests that know nothing of it.

import { ok as assert } from 'node:assert/strict';
import type { JsonSchema } from '@tallystick/contract';
import * as fc from 'fast-check';
import { LATEST } from './test-validate-event.ts';

const anyText = fc
  .string({ unit: 'binary', maxLength: 12 })
  .filter((text) => text.isWellFormed() && !text.includes('\0'));

const anyValue = fc.anything({
  key: anyText,
  values: [anyText, fc.integer(), fc.boolean(), fc.constant(null)],
  maxDepth: 3,
});

export function drawn(schema: JsonSchema): fc.Arbitrary<unknown> {
  const { type, enum: words, format, pattern, properties, required = [], minLength = 0 } = schema;
  if (words !== undefined) return fc.constantFrom(...words);
  if (format === 'date-time') {
    const range = { min: new Date(0), max: new Date(LATEST), noInvalidDate: true };
    return fc.date(range).map((date) => date.toISOString());
  }
  if (format === 'uuid') return fc.uuid();
  if (pattern !== undefined) return fc.stringMatching(new RegExp(pattern, 'u'));
  if (type === 'string') return anyText.map((text) => text.padEnd(minLength, '~'));
  assert(type === 'object', `no values are drawn of the type ${type}`);
  if (properties === undefined) return fc.dictionary(anyText, anyValue, { maxKeys: 4 });
  const members = Object.entries(properties).map(([name, member]) => [name, drawn(member)] as const);
  return fc.record<Record<string, unknown>>(Object.fromEntries(members), {
    requiredKeys: [...required],
    noNullPrototype: true,
  });
}
