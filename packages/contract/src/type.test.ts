// Our builders give what TypeBox gives, so that TypeBox's types are true of it.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Type as TypeBox } from 'typebox';
import { Type } from './type.ts';

const sampleOf = (types: typeof Type) => {
  const text = types.String({ minLength: 1, description: 'A text.' });
  return types.Object(
    {
      text,
      maybe: types.Optional(text),
      count: types.Integer({ minimum: 0 }),
      ratio: types.Optional(types.Number()),
      flag: types.Boolean({ default: false }),
      word: types.Literal('word', { title: 'Word' }),
      list: types.Array(text, { maxItems: 2 }),
      orNull: types.Union([text, types.Null()], { description: 'Or null.' }),
      any: types.Optional(types.Unknown({ readOnly: true })),
      own: types.Unsafe<'a'>({ type: 'string', enum: ['a'] }),
    },
    { title: 'Sample', additionalProperties: false },
  );
};

test('every builder gives the JSON Schema that TypeBox gives', () => {
  const plain = (schema: object): unknown => JSON.parse(JSON.stringify(schema));
  assert.deepEqual(plain(sampleOf(Type)), plain(sampleOf(TypeBox)));
  const nothing = (types: typeof Type) => types.Object({ a: types.Optional(types.Null()) });
  assert.deepEqual(plain(nothing(Type)), plain(nothing(TypeBox)));
});

test('making a schema optional leaves the schema itself as it was', () => {
  const text = Type.String();
  Type.Optional(text);
  assert.deepEqual(Type.Object({ text }).required, ['text']);
});
