// The resources of MCP: what an address leads to, and the operation that is asked for it. Each read is a call of that operation,
// with the caller's permissions and sight.

import type { OperationName } from '../operations.ts';

export interface McpResource {
  readonly uri: string;
  readonly name: string;
  readonly title: string;
  readonly description: string;
  readonly mimeType: 'application/json' | 'text/markdown';
}

export interface McpResourceTemplate extends Omit<McpResource, 'uri'> {
  readonly uriTemplate: string;
  readonly operation: OperationName;
}

const SCHEME = 'tallystick://';
const template = (path: string, operation: OperationName, title: string): McpResourceTemplate => ({
  uriTemplate: `${SCHEME}${path}`,
  name: operation.replaceAll('.', '_').toLowerCase(),
  title,
  description: `${title}, as this caller may see it.`,
  mimeType: 'application/json',
  operation,
});

/** Variables are members of the operation's input. */
export const RESOURCE_TEMPLATES: readonly McpResourceTemplate[] = [
  template('events/{eventId}', 'events.get', 'An event'),
  template('events/{eventId}/explanation', 'events.explain', 'Why an event is classified and kept as it is'),
  template('streams/{streamId}', 'streams.get', 'A stream with its hash chain'),
  template(
    'streams/{streamId}/events{?fromSequence}',
    'streams.listEvents',
    'The events of a stream, in order',
  ),
  template('policies/{policyId}', 'policies.get', 'A policy'),
  template('policies/{policyId}/versions/{version}', 'policies.getVersion', 'A version of a policy'),
  template('violations/{violationId}', 'violations.get', 'A violation'),
  template('exports/{exportId}', 'exports.get', 'An export, without the link to its file'),
  template('holds/{holdId}', 'holds.get', 'A legal hold'),
];

const resource = (path: string, title: string, mimeType: McpResource['mimeType']): McpResource => ({
  uri: `${SCHEME}${path}`,
  name: path.replaceAll('/', '_'),
  title,
  description: `${title}.`,
  mimeType,
});

/** Those that an operation without input answers. */
export const RESOURCE_OPERATIONS: Readonly<Record<string, OperationName>> = {
  [`${SCHEME}checkpoint`]: 'checkpoints.latest',
  [`${SCHEME}streams`]: 'streams.list',
};

export const ME = `${SCHEME}me`;
export const QUERY_REFERENCE = `${SCHEME}reference/query`;
export const ERRORS_REFERENCE = `${SCHEME}reference/errors`;

export const RESOURCES: readonly McpResource[] = [
  resource('checkpoint', 'The newest signed checkpoint of the log', 'application/json'),
  resource('streams', 'The streams of the log, newest first', 'application/json'),
  resource('me', 'Who is asking: name, roles, clearance, tenant', 'application/json'),
  resource('reference/query', 'The language of queries', 'text/markdown'),
  resource('reference/errors', 'What error codes mean', 'text/markdown'),
];

/** Text that is the same for everybody. */
export const QUERY_TEXT = `# Queries

| write | to find |
|---|---|
| \`refund invoice\` | events with both words |
| \`"over the limit"\` | a phrase |
| \`-test\` | events without the word |
| \`inv*\` | words that begin so |
| \`refund OR chargeback\`, \`( … )\` | either |
| \`action:Delete.*\` | a field, by its beginning |
| \`actor.userId:u-1\` | a field, exactly |
| \`payload.amount:>1000\` | numbers above; also \`>=\`, \`<\`, \`<=\` |

Case does not count for words. What a caller may not see is not searched for it.
`;

/** An address taken apart: the operation and its input; undefined if no template fits. */
export function readAddress(
  uri: string,
): { operation: OperationName; input: Record<string, string> } | undefined {
  for (const { uriTemplate, operation } of RESOURCE_TEMPLATES) {
    const match = patternOf(uriTemplate).exec(uri);
    if (match?.groups === undefined) continue;
    const found = Object.entries(match.groups).filter(([, value]) => value !== undefined);
    return { operation, input: Object.fromEntries(found) };
  }
  return undefined;
}

/** Values are ids and numbers, so nothing in them is percent-encoded. */
function patternOf(uriTemplate: string): RegExp {
  const source = uriTemplate
    .replaceAll(/\{\?(\w+)\}/g, '(?:\\?$1=(?<$1>\\d{1,16}))?')
    .replaceAll(/\{(\w+)\}/g, '(?<$1>[\\w-]{1,64})');
  return new RegExp(`^${source}$`);
}
