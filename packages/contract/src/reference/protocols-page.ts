// The page of protocols: what each operation is called in each of them, and why one lacks it.

import { mcpTools } from '../mcp/tools.ts';
import { GRAPHQL_NAMES, graphqlRoot } from '../names/graphql.ts';
import { grpcName } from '../names/grpc.ts';
import { toolName } from '../names/mcp.ts';
import { soapName } from '../names/soap.ts';
import type { Operation, Protocol } from '../operation.ts';
import { gapsOf, isOffered, OPERATION_GROUPS, type OperationName } from '../operations.ts';
import { code, headingAnchor, link, page, route, table } from './markdown.ts';

/** Every protocol beside REST: what it is called, and the name of an operation there. */
const NAMES: Readonly<
  Record<
    Exclude<Protocol, 'rest'>,
    readonly [title: string, name: (each: Operation<OperationName>) => string]
  >
> = {
  graphql: ['GraphQL', (each) => `${graphqlRoot(each)}.${GRAPHQL_NAMES[each.name]}`],
  grpc: [
    'gRPC, Connect',
    ({ name }) => {
      const { service, method } = grpcName(name);
      return `${service}/${method}`;
    },
  ],
  soap: ['SOAP', ({ name }) => soapName(name)],
  mcp: ['MCP', ({ name }) => toolName(name)],
};

const titleOf = (protocol: Protocol): string => (protocol === 'rest' ? 'REST' : NAMES[protocol][0]);

function groupTable([title, operations]: [string, readonly Operation<OperationName>[]]): string {
  const changing = new Set(mcpTools().flatMap(({ set, tool }) => (set === 'Reading' ? [] : [tool.name])));
  const rows = operations.map((each) => [
    link(code(each.name), `operations.md${headingAnchor(each.name)}`),
    code(route(each)),
    ...Object.entries(NAMES).map(([protocol, [, nameOf]]) => {
      if (!isOffered(each, protocol as Protocol)) return '–';
      const name = nameOf(each);
      return protocol === 'mcp' && changing.has(name) ? `${code(name)} *` : code(name);
    }),
  ]);
  const titles = Object.values(NAMES).map(([name]) => name);
  return `## ${title}\n\n${table(['operation', 'REST', ...titles], rows)}`;
}

/** One row for all operations that the same protocols lack for the same reason. */
function gapsTable(): string {
  const rows = new Map<string, [names: string[], protocols: string, reason: string]>();
  for (const each of Object.values(OPERATION_GROUPS).flat()) {
    const gaps = gapsOf(each);
    for (const reason of new Set(gaps.map(([, why]) => why))) {
      const protocols = gaps.flatMap(([protocol, why]) => (why === reason ? [titleOf(protocol)] : []));
      const key = `${protocols.join()} ${reason}`;
      const row = rows.get(key) ?? [[], protocols.join('; '), reason];
      row[0].push(code(each.name));
      rows.set(key, row);
    }
  }
  const cells = [...rows.values()].map(([names, protocols, reason]) => [names.join(', '), protocols, reason]);
  return `## What a protocol lacks, and why\n\n${table(['operation', 'not in', 'because'], cells)}`;
}

const BESIDE = `## What a protocol has beside the operations

| protocol | what |
|---|---|
| GraphQL | The log as it grows, as a subscription over server-sent events: \`logGrew\`. In v2, [links](graphql.md) from one resource to another |
| gRPC | The log as it grows: \`EventsService/Tail\`. Batches for as long as a stream lasts: \`EventsService/IngestStream\`. \`grpc.health.v1.Health\` |
| MCP | \`events_verify\` and \`events_statistics\`, resources and prompts |

Each is made of operations, with the permissions and the limits of these.`;

export function protocolsPage(): string {
  return page(
    'Protocols',
    `What each operation is called over each protocol. It is the same operation: the same callers, permissions, redaction, limits and errors.
SOAP has the first version of the interface, MCP the newest, the others have both: \`/api/v2\` is beside \`/api/v1\`. Tools with * are offered where
\`Mcp__Tools\` is \`All\`.`,
    [...Object.entries(OPERATION_GROUPS).map(groupTable), gapsTable(), BESIDE],
  );
}
