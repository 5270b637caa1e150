// Speaks GraphQL: asks for every field of an answer, and puts the answer back into the form of the contract.

import {
  type AnswerKind,
  type Operation,
  type OperationName,
  operationsIn,
  type Version,
} from '@tallystick/contract';
import { GRAPHQL_NAMES, graphqlRoot, LINKS, sdlOf } from '@tallystick/contract/graphql';
import {
  buildSchema,
  getNamedType,
  type GraphQLOutputType,
  type GraphQLSchema,
  isInterfaceType,
  isObjectType,
  isUnionType,
} from 'graphql';
import type { TestApp } from '../../../packages/server/src/testing/test-app.ts';
import type { Speaker, Spoken, Told } from '../speaker.ts';
import { callHeaders } from './rest.ts';

export const GRAPHQL: Spoken = {
  protocol: 'graphql',
  versions: ['v1', 'v2'],
  speak: (app) => Promise.resolve(graphqlSpeaker(app)),
};

const SCHEMAS: Readonly<Record<Version, GraphQLSchema>> = {
  v1: buildSchema(sdlOf('v1')),
  v2: buildSchema(sdlOf('v2')),
};

/** What a page has besides the members that it has in REST. */
const OF_CONNECTIONS = ['nodes', 'edges', 'pageInfo', 'totalCount', 'totalRelation'];

interface Response {
  readonly data?: Readonly<Record<string, unknown>> | null;
  readonly errors?: readonly {
    readonly message: string;
    readonly extensions: Pick<NonNullable<Told['error']>, 'code' | 'details' | 'traceId' | 'requestId'>;
  }[];
  readonly extensions?: { readonly answers?: Readonly<Record<string, { readonly kind: AnswerKind }>> };
}

function graphqlSpeaker({ url }: Pick<TestApp, 'url'>): Speaker {
  return {
    protocol: 'graphql',
    versions: GRAPHQL.versions,
    async ask(name, input, by = {}) {
      const { version = 'v1' } = by;
      const operation = operationsIn(version).find((each) => each.name === name)!;
      const response = await fetch(`${url}/graphql/${version}`, {
        method: 'POST',
        headers: {
          ...callHeaders(by),
          'Content-Type': 'application/json',
          Accept: 'application/graphql-response+json',
        },
        body: JSON.stringify(documentFor(operation, input, version)),
      });
      return toldBy(operation, (await response.json()) as Response, Object.fromEntries(response.headers));
    },
    [Symbol.asyncDispose]: () => Promise.resolve(),
  };
}

function documentFor(operation: Operation<OperationName>, input: object, version: Version) {
  const schema = SCHEMAS[version];
  const root = graphqlRoot(operation);
  const field = schema.getType(root)!;
  if (!isObjectType(field)) throw new Error(`${root} has fields`);
  const { args, type } = field.getFields()[GRAPHQL_NAMES[operation.name]!]!;
  const isList = operation.output.kind === 'List';
  const variables = Object.fromEntries(
    Object.entries(input)
      .filter(([, value]) => value !== undefined)
      .map(([member, value]) => [isList ? (PAGING[member] ?? member) : member, value as unknown]),
  );
  const given = args.filter((arg) => Object.hasOwn(variables, arg.name));
  const declared = given.map((arg) => `$${arg.name}: ${String(arg.type)}`).join(', ');
  const passed = given.map((arg) => `${arg.name}: $${arg.name}`).join(', ');
  const inBrackets = (text: string) => (text === '' ? '' : `(${text})`);
  const named = GRAPHQL_NAMES[operation.name]!;
  const query = `${root.toLowerCase()}${inBrackets(declared)} { answer: ${named}${inBrackets(passed)}${selection(type)} }`;
  return { query, variables };
}

const PAGING: Readonly<Record<string, string>> = { limit: 'first', cursor: 'after' };

/** All fields that are members in the contract, too. Links are not: they lead round in circles. */
function selection(type: GraphQLOutputType, isAmbiguous: (name: string) => boolean = () => false): string {
  const named = getNamedType(type);
  if (isUnionType(named)) {
    const shapes = named.getTypes();
    // A name that has another type in another shape must be answered under another name.
    const typesOf = (name: string) => shapes.map((shape) => shape.getFields()[name]?.type.toString());
    const isAmbiguous = (name: string) => new Set(typesOf(name).filter(Boolean)).size > 1;
    const selected = shapes.map((each) => `... on ${each.name}${selection(each, isAmbiguous)}`);
    return ` { ${selected.join(' ')} }`;
  }
  if (!isObjectType(named) && !isInterfaceType(named)) return '';
  const besides = [
    'etag',
    ...(named.name.endsWith('Connection') ? OF_CONNECTIONS : []),
    ...(LINKS.v2?.[named.name] ?? []).map(({ name }) => name),
  ];
  const fields = Object.values(named.getFields()).filter(({ name }) => !besides.includes(name));
  const selected = fields.map((each) => {
    const alias = isAmbiguous(each.name) ? `${each.name}${MARK}${named.name}: ` : '';
    return alias + each.name + selection(each.type);
  });
  return ` { ${selected.join(' ')} }`;
}

function toldBy(
  operation: Operation<OperationName>,
  { data, errors, extensions }: Response,
  headers: Readonly<Record<string, string>>,
): Told {
  const [error] = errors ?? [];
  if (error !== undefined) return { error: { message: error.message, ...error.extensions }, headers };
  const kind = extensions?.answers?.['answer']?.kind ?? 'Done';
  if (operation.output.kind === 'None') return { kind, headers };
  return { kind, body: withoutNulls(data?.['answer']), headers };
}

/** Behind the name of a field that is answered under another one. */
const MARK = '_in_';

/** Where null is a value, and where nobody looks inside. */
const NULLABLE = ['cursor', 'previousCursor', 'nextCursor'];
const FREE = ['payload', 'context', 'conditions', 'value'];

/** Members that are left out in the contract are null in GraphQL. */
function withoutNulls(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(withoutNulls);
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(
    Object.entries(value)
      .filter(([name, inner]) => inner !== null || NULLABLE.includes(name))
      .map(([name, inner]) => [name.split(MARK)[0], FREE.includes(name) ? inner : withoutNulls(inner)]),
  );
}
