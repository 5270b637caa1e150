// Our scalars: what they take and give. Instants stay text, because their fraction is hashed as it was sent; numbers of
// JSON that stands in a document obey the rules for those in any other body.

import type { GraphQLScalarType, GraphQLSchema, ValueNode } from 'graphql';
import { parseJson, scanJson } from '@tallystick/evidence';
import type { Graphql } from './library.ts';

type Variables = Readonly<Record<string, unknown>> | null | undefined;

const DIGITS = /^-?(?:0|[1-9]\d{0,15})$/;

export function setScalars(schema: GraphQLSchema, library: Graphql): void {
  const { Kind, GraphQLError } = library;
  const refused = (issue: string, node?: ValueNode) => new GraphQLError(issue, { nodes: node ?? null });
  const asItIs = (value: unknown) => value;

  const toLong = (value: unknown, node?: ValueNode): number => {
    const number = typeof value === 'string' && DIGITS.test(value) ? Number(value) : value;
    if (typeof number === 'number' && Number.isSafeInteger(number)) return number;
    throw refused('must be a whole number up to 2^53−1', node);
  };
  set(schema, 'Long', {
    serialize: asItIs,
    parseValue: toLong,
    parseLiteral: (node) => {
      if (node.kind !== Kind.INT && node.kind !== Kind.STRING) throw refused('must be a whole number', node);
      return toLong(node.value, node);
    },
  });

  const toInstant = (value: unknown, node?: ValueNode): string => {
    if (typeof value === 'string') return value;
    throw refused('must be an instant as text', node);
  };
  set(schema, 'DateTime', {
    serialize: asItIs,
    parseValue: toInstant,
    parseLiteral: (node) => toInstant(node.kind === Kind.STRING ? node.value : undefined, node),
  });

  const inDocument = (node: ValueNode, variables: Variables): unknown => {
    switch (node.kind) {
      case Kind.INT:
      case Kind.FLOAT:
        return numberIn(node.value, (issue) => refused(issue, node));
      case Kind.LIST:
        return node.values.map((each) => inDocument(each, variables));
      case Kind.OBJECT:
        return Object.fromEntries(
          node.fields.map(({ name, value }) => [name.value, inDocument(value, variables)]),
        );
      case Kind.NULL:
        return null;
      case Kind.VARIABLE:
        return variables?.[node.name.value];
      case Kind.STRING:
      case Kind.BOOLEAN:
      case Kind.ENUM:
        return node.value;
    }
  };
  set(schema, 'JSON', { serialize: asItIs, parseValue: asItIs, parseLiteral: inDocument });
}

/** The number, where a double holds it. */
function numberIn(text: string, refused: (issue: string) => Error): unknown {
  const { violations } = scanJson(Buffer.from(text), { depthMax: 1 });
  if (violations[0] !== undefined) throw refused(violations[0].issue);
  return parseJson(text);
}

type Behaviour = Pick<GraphQLScalarType, 'serialize' | 'parseValue' | 'parseLiteral'>;

function set(schema: GraphQLSchema, name: string, behaviour: Behaviour): void {
  // Of a schema that was made of text, a scalar is an object of the library without behaviour.
  Object.assign(schema.getType(name)!, behaviour);
}
