// The schema of a version, printed from the operations: a field of Query or Mutation for each that is offered, its input
// as arguments, a list as a connection.

import { GRAPHQL_NAMES, graphqlRoot } from '../names/graphql.ts';
import type { Operation } from '../operation.ts';
import { isOffered, operationsIn, outputSchema } from '../operations.ts';
import type { OperationName } from '../operations.ts';
import { asJson } from '../schema.ts';
import type { JsonSchema, Version } from '../schema.ts';
import { StreamEvent } from '../schemas/event.ts';
import { Pagination, TotalRelation } from '../schemas/list.ts';
import { described, descriptionOf, fieldLines, type FieldText, GraphqlTypes } from './types.ts';

/** The operations of a version by the names of their fields. */
export function graphqlFields(version: Version): Map<string, Operation<OperationName>> {
  return new Map(
    operationsIn(version)
      .filter((each) => isOffered(each, 'graphql'))
      .map((each) => [fieldName(each), each]),
  );
}

function fieldName({ name }: Operation<OperationName>): string {
  const field = GRAPHQL_NAMES[name];
  if (field === undefined) throw new Error(`${name} has no name over GraphQL`);
  return field;
}

/** Asked for by being selected, so it is no argument. */
export const BY_SELECTION: Readonly<Record<string, string>> = { includeRelatedEntities: 'relatedEntities' };

export function sdlOf(version: Version): string {
  const types = new GraphqlTypes(version);
  const roots: Record<'Query' | 'Mutation', FieldText[]> = { Query: [], Mutation: [] };
  for (const [name, operation] of graphqlFields(version)) {
    roots[graphqlRoot(operation)].push({
      name,
      type: outputType(operation, types, version),
      description: `${operation.summary}.${needs(operation)}`,
      args: argsOf(operation, types),
    });
  }
  const head = `# The interface of Tallystick over GraphQL, ${version}. Written from the contract by npm run docs.`;
  const printed = (['Query', 'Mutation'] as const).map(
    (root) => `type ${root} {\n${fieldLines(roots[root])}\n}`,
  );
  types.optional(asJson(StreamEvent), 'Output');
  return `${[head, SCHEMA, ...printed, TAIL, ...types.texts()].join('\n\n')}\n`;
}

/** A type named Subscription is that of webhooks. */
const SCHEMA = 'schema {\n  query: Query\n  mutation: Mutation\n  subscription: Tail\n}';

const TAIL = `"Asked for as server-sent events."
type Tail {
  "The entries of the log from this sequence on, then each new one as it comes; without it, the new ones alone. Needs \`audit.events.read\`."
  logGrew(fromSequence: Long): StreamEvent
}`;

function needs({ permission, idempotency }: Operation): string {
  const by = permission === null ? '' : ` Needs \`${permission}\`.`;
  return idempotency === 'Key' ? `${by} Honours \`Idempotency-Key\`.` : by;
}

function argsOf({ input, output }: Operation, types: GraphqlTypes): FieldText[] {
  const schema = asJson(input);
  return types.fieldsOf(schema, 'Input').flatMap((field) => {
    if (field.name in BY_SELECTION) return [];
    if (output.kind !== 'List') return [field];
    if (field.name === 'limit') return [{ ...field, name: 'first' }];
    if (field.name === 'cursor') return CURSORS;
    return [field];
  });
}

const CURSORS: readonly FieldText[] = [
  { name: 'after', type: 'String', description: 'The page after: `pageInfo.endCursor`.' },
  { name: 'before', type: 'String', description: 'The page before: `pageInfo.startCursor`.' },
];

function outputType(operation: Operation, types: GraphqlTypes, version: Version): string {
  const { output } = operation;
  if (output.kind === 'List') return connectionOf(asJson(output.item), types, version);
  const schema = outputSchema(operation);
  // That it was done says all.
  return schema === undefined ? 'Boolean' : types.optional(asJson(schema), 'Output');
}

function connectionOf(item: JsonSchema, types: GraphqlTypes, version: Version): string {
  const type = types.optional(item, 'Output');
  const name = `${type}Connection`;
  if (types.has(name)) return name;
  const deprecated = version === 'v1' ? undefined : 'Use nodes, pageInfo and totalCount.';
  const relation = types.required(asJson(TotalRelation), 'Output');
  const fields: FieldText[] = [
    { name: 'nodes', type: `[${type}!]!` },
    { name: 'edges', type: `[${type}Edge!]!` },
    { name: 'pageInfo', type: 'PageInfo!' },
    { name: 'totalCount', type: 'Long!', description: 'Items in the whole list.' },
    { name: 'totalRelation', type: relation, description: descriptionOf(asJson(TotalRelation)) },
    { name: 'data', type: `[${type}!]!`, description: 'The page as REST has it.', deprecated },
    { name: 'pagination', type: types.required(asJson(Pagination), 'Output'), deprecated },
  ];
  types.define(name, `${described('A page of a list.')}type ${name} {\n${fieldLines(fields)}\n}`);
  const edge: FieldText[] = [
    { name: 'node', type: `${type}!` },
    { name: 'cursor', type: 'String', description: 'The last edge of a page has one: `pageInfo.endCursor`.' },
  ];
  types.define(`${type}Edge`, `type ${type}Edge {\n${fieldLines(edge)}\n}`);
  types.define('PageInfo', PAGE_INFO);
  return name;
}

const PAGE_INFO = `"Where a page stands in its list."
type PageInfo {
  hasNextPage: Boolean!
  hasPreviousPage: Boolean!
  "For \`before\`."
  startCursor: String
  "For \`after\`."
  endCursor: String
}`;
