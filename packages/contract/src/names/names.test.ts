// Every operation has one name in every protocol that offers it, and no two share one.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { isOffered, OPERATIONS } from '../operations.ts';
import { GRAPHQL_NAMES, graphqlRoot } from './graphql.ts';
import { grpcName, grpcPath } from './grpc.ts';
import { soapName } from './soap.ts';
import { toolName } from './mcp.ts';

test('no two operations share a name in any protocol', () => {
  const names = {
    graphql: (name: string) => Object.entries(GRAPHQL_NAMES).find(([operation]) => operation === name)?.[1],
    grpc: (name: string) => grpcPath('v1', name),
    soap: soapName,
    mcp: toolName,
  } as const;
  for (const protocol of ['graphql', 'grpc', 'soap', 'mcp'] as const) {
    const offered = OPERATIONS.filter((each) => isOffered(each, protocol));
    const all = offered.map(({ name }) => names[protocol](name));
    assert.ok(!all.includes(undefined), `${protocol}: ${offered.find((_, i) => all[i] === undefined)?.name}`);
    assert.equal(new Set(all).size, offered.length, protocol);
  }
});

test('names follow the rules of their protocols', () => {
  assert.deepEqual(grpcName('events.ingestBatch'), { service: 'EventsService', method: 'IngestBatch' });
  assert.equal(grpcPath('v2', 'exportSchedules.list'), '/tallystick.v2.ExportSchedulesService/List');
  assert.equal(toolName('exportSchedules.list'), 'export_schedules_list');
  for (const { name } of OPERATIONS) assert.match(toolName(name), /^[a-z_]{1,64}$/);
  const rootOf = (name: string) => graphqlRoot(OPERATIONS.find((each) => each.name === name)!);
  assert.deepEqual(['events.search', 'streams.verify', 'policies.validate', 'holds.create'].map(rootOf), [
    'Query',
    'Mutation',
    'Query',
    'Mutation',
  ]);
});
