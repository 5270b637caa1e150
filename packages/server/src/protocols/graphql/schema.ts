// The schema of a version, ready to be executed: parsed by the library, with scalars and enums as our rules have them, and
// with what each field is an operation of.

import type { GraphQLEnumType, GraphQLSchema } from 'graphql';
import {
  asJson,
  branchOf,
  componentsOf,
  type JsonSchema,
  type Operation,
  type OperationName,
  operationsIn,
  outputSchema,
  type Version,
} from '@tallystick/contract';
import { graphqlFields, type GraphqlLink, graphqlRoot, LINKS, sdlOf } from '@tallystick/contract/graphql';
import type { Operations } from '../../operations.ts';
import { pauseForOthers } from '../../runtime/pause.ts';
import { type MessageBinding, messageBinding } from '../input/message-input.ts';
import { type Graphql, loadLibrary } from './library.ts';
import { setScalars } from './scalars.ts';

/** An operation as a field: of a root, or a link. */
export interface OperationField {
  readonly operation: Operation<OperationName>;
  readonly binding: MessageBinding;
  readonly isQuery: boolean;
}

export interface ServedSchema {
  readonly library: Graphql;
  readonly schema: GraphQLSchema;
  readonly version: Version;
  /** By the name of the field. */
  readonly roots: ReadonlyMap<string, OperationField>;
  readonly byOperation: ReadonlyMap<OperationName, OperationField>;
  /** By `Parent.field`. */
  readonly links: ReadonlyMap<string, GraphqlLink>;
  /** The type of a value that may be one of several. */
  readonly typeOf: (union: string, value: object) => string | undefined;
}

const schemas = new Map<Version, Promise<GraphQLSchema>>();

export async function loadSchema(version: Version, operations: Operations): Promise<ServedSchema> {
  const library = await loadLibrary();
  const made = schemas.get(version) ?? makeSchema(version, library);
  schemas.set(version, made);
  const schema = await made;
  const served = [...graphqlFields(version)].filter(([, { name }]) => operations[name] !== undefined);
  const roots = new Map(served.map(([name, operation]) => [name, fieldOf(operation)]));
  const links = Object.entries(LINKS[version] ?? {}).flatMap(([parent, all]) =>
    all.map((link): [string, GraphqlLink] => [`${parent}.${link.name}`, link]),
  );
  const unions = unionsIn(version);
  return {
    library,
    schema,
    version,
    roots,
    byOperation: new Map([...roots.values()].map((field) => [field.operation.name, field])),
    links: new Map(links),
    typeOf: (union, value) => {
      const branches = unions.get(union);
      return branches === undefined ? undefined : branchOf(branches, value)?.title;
    },
  };
}

/** Each step holds the thread, so others have a turn between them (P17). */
async function makeSchema(version: Version, library: Graphql): Promise<GraphQLSchema> {
  await pauseForOthers();
  const text = sdlOf(version);
  await pauseForOthers();
  const document = library.parse(text, { noLocation: true });
  await pauseForOthers();
  // The contract's tests validate it.
  const schema = library.buildASTSchema(document, { assumeValid: true });
  setScalars(schema, library);
  for (const type of Object.values(schema.getTypeMap())) {
    if (library.isEnumType(type) && !type.name.startsWith('__')) leaveWordsToGateway(type, library);
  }
  return schema;
}

const fieldOf = (operation: Operation<OperationName>): OperationField => ({
  operation,
  binding: messageBinding(operation),
  isQuery: graphqlRoot(operation) === 'Query',
});

/** A word in a variable is judged with all the rest of the input, in the same words as in other protocols. */
function leaveWordsToGateway(type: GraphQLEnumType, { GraphQLError }: Graphql): void {
  type.parseValue = (value) => {
    if (typeof value === 'string') return value;
    throw new GraphQLError(
      `must be one of ${type
        .getValues()
        .map(({ name }) => name)
        .join(', ')}`,
    );
  };
}

function unionsIn(version: Version): Map<string, JsonSchema> {
  const shown = operationsIn(version).flatMap((each) => {
    const { output } = each;
    return output.kind === 'List' ? [output.item] : (outputSchema(each) ?? []);
  });
  const isUnion = ([, schema]: [string, JsonSchema]) =>
    schema.anyOf !== undefined || schema.oneOf !== undefined;
  return new Map(
    [...componentsOf(shown)]
      .map(([title, schema]) => [title, asJson(schema)] as [string, JsonSchema])
      .filter(isUnion),
  );
}
