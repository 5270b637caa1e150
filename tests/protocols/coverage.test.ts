// Every operation is in every protocol, as it is committed and served, or the contract says why not.

import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { buildSchema, type GraphQLSchema } from 'graphql';
import { type Operation, OPERATIONS, type OperationName, openApiOf } from '@tallystick/contract';
import { GRAPHQL_NAMES, graphqlRoot } from '@tallystick/contract/graphql';
import { grpcName } from '@tallystick/contract/grpc';
import { toolName } from '@tallystick/contract/mcp';
import { soapName } from '@tallystick/contract/soap';

const INTERFACES = join(import.meta.dirname, '../../packages/contract/interfaces');
const committed = (file: string) => readFileSync(join(INTERFACES, file), 'utf8');

type Any = Operation<OperationName>;
type Has = (operation: Any) => boolean;

const inSchema =
  (schema: GraphQLSchema): Has =>
  (each) => {
    const root = graphqlRoot(each) === 'Query' ? schema.getQueryType() : schema.getMutationType();
    return Object.hasOwn(root!.getFields(), GRAPHQL_NAMES[each.name] ?? '');
  };

function inServices(text: string): Has {
  const services = new Map(
    [...text.matchAll(/^service (\w+) \{\n(.*?)^\}/gms)].map(([, name = '', inside = '']) => [name, inside]),
  );
  return ({ name }) => {
    const { service, method } = grpcName(name);
    return services.get(service)?.includes(`rpc ${method}(`) === true;
  };
}

const tools = new Set(
  (JSON.parse(committed('mcp/tools.json')) as { tools: { name: string }[] }).tools.map(({ name }) => name),
);
const elements = committed('soap/v1/tallystick.xsd');
const described = openApiOf('v1', { operations: new Set(OPERATIONS.map(({ name }) => name)), build: '1' });
const paths = described['paths'] as Readonly<Record<string, Readonly<Record<string, unknown>>>>;

const inRest: Has = ({ rest }) => {
  const template = rest.path.replaceAll('+}', '}');
  const found = Object.keys(paths).find((path) => path === template || path === `/api/v1${template}`);
  return found !== undefined && rest.method.toLowerCase() in paths[found]!;
};

/** By what is committed of each. */
const PROTOCOLS: readonly (readonly [protocol: keyof NonNullable<Any['gaps']>, name: string, has: Has])[] = [
  ['graphql', 'GraphQL v1', inSchema(buildSchema(committed('graphql/v1.graphql')))],
  ['graphql', 'GraphQL v2', inSchema(buildSchema(committed('graphql/v2.graphql')))],
  ['grpc', 'gRPC v1', inServices(committed('proto/tallystick/v1/services.proto'))],
  ['grpc', 'gRPC v2', inServices(committed('proto/tallystick/v2/services.proto'))],
  ['soap', 'SOAP', ({ name }) => elements.includes(`<xs:element name="${soapName(name)}">`)],
  ['mcp', 'MCP', ({ name }) => tools.has(toolName(name))],
];

/** What is in none, or has a reason and is there all the same. */
function uncovered(operations: readonly Any[]): string[] {
  return operations.flatMap((each) =>
    PROTOCOLS.flatMap(([protocol, name, has]) => {
      const reason = each.gaps?.[protocol];
      if (has(each)) return reason === undefined ? [] : [`${each.name} is in ${name}, and is said not to be`];
      return reason === undefined ? [`${each.name} is not in ${name}, and nobody says why`] : [];
    }),
  );
}

test('every operation is in every protocol, or the contract says why not', () => {
  assert.deepEqual(uncovered(OPERATIONS), []);
  assert.deepEqual(
    OPERATIONS.filter((each) => !inRest(each)).map(({ name }) => name),
    [],
  );
});

test('a reason is one that a user can accept: it says what is instead, or what would be wrong', () => {
  const reasons = new Set(OPERATIONS.flatMap(({ gaps = {} }) => Object.values(gaps)));
  for (const reason of reasons) {
    assert.ok(reason.split(' ').length >= 8, reason);
    assert.doesNotMatch(reason, /\b(yet|later|planned|not (implemented|supported)|effort|time)\b/i);
  }
});

test('control: an operation without a reason, or with one that does not hold, is named', () => {
  const named = (name: OperationName) => OPERATIONS.find((each) => each.name === name)!;
  const { gaps: _, ...tile } = named('log.tile');
  assert.equal(uncovered([tile]).length, PROTOCOLS.length);
  assert.equal(
    uncovered([{ ...named('events.list'), gaps: { soap: 'It is not wanted by anybody.' } }]).length,
    1,
  );
});
