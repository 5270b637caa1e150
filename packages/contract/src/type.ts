// The dozen builders of TypeBox that this package uses, under its name `Type` and with its types, giving the same
// plain JSON Schema. TypeBox itself is then needed by the compiler only: loading its hundreds of modules would take
// everybody who imports the contract longer than all the rest of it. type.test.ts holds the two against each other.

import type { TProperties, TSchema, Type as TypeBox } from 'typebox';

type Builders = Pick<
  typeof TypeBox,
  | 'Array'
  | 'Boolean'
  | 'Integer'
  | 'Literal'
  | 'Null'
  | 'Number'
  | 'Object'
  | 'Optional'
  | 'String'
  | 'Union'
  | 'Unknown'
  | 'Unsafe'
>;

/** Hidden, as TypeBox hides it: it says how a schema stands in an object, not what it is. */
const OPTIONAL = '~optional';

const builders = {
  Array: (items: TSchema, options?: object) => ({ type: 'array', items, ...options }),
  Boolean: (options?: object) => ({ type: 'boolean', ...options }),
  Integer: (options?: object) => ({ type: 'integer', ...options }),
  Literal: (value: string, options?: object) => ({ type: typeof value, const: value, ...options }),
  Null: (options?: object) => ({ type: 'null', ...options }),
  Number: (options?: object) => ({ type: 'number', ...options }),
  Object: (properties: TProperties, options?: object) => {
    const required = Object.keys(properties).filter((name) => !(OPTIONAL in properties[name]!));
    return { type: 'object', ...(required.length > 0 && { required }), properties, ...options };
  },
  Optional: (schema: TSchema) => Object.defineProperty({ ...schema }, OPTIONAL, { value: true }),
  String: (options?: object) => ({ type: 'string', ...options }),
  Union: (anyOf: readonly TSchema[], options?: object) => ({ anyOf, ...options }),
  Unknown: (options?: object) => ({ ...options }),
  Unsafe: (schema: object) => ({ ...schema }),
};

// oxlint-disable-next-line typescript/no-unsafe-type-assertion -- type.test.ts shows that they give the same
export const Type = builders as unknown as Builders;
