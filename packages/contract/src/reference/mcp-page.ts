// The page of MCP: tools, resources and prompts, with who may use them and what is limited.

import { LIMITS } from '../limits.ts';
import { PROMPTS } from '../mcp/prompts.ts';
import { RESOURCE_OPERATIONS, RESOURCE_TEMPLATES, RESOURCES } from '../mcp/resources.ts';
import { mcpTools, type OfferedTool, type ToolSet } from '../mcp/tools.ts';
import { type OperationName, operationNamed } from '../operations.ts';
import { limitsTable } from './limits-page.ts';
import { code, headingAnchor, link, page, table } from './markdown.ts';

const permissionLink = (name: string): string => link(code(name), `permissions.md#${name}`);
const operationLink = (name: string): string => link(code(name), `operations.md${headingAnchor(name)}`);
const permissionOf = (name: OperationName): string => {
  const { permission } = operationNamed(name);
  return permission === null ? '–' : permissionLink(permission);
};

/** An argument that may be left out has a question mark. */
function argumentsText({ inputSchema: { properties = {}, required = [] } }: OfferedTool['tool']): string {
  return Object.keys(properties)
    .map((name) => code(required.includes(name) ? name : `${name}?`))
    .join(', ');
}

function toolsTable(set: ToolSet): string {
  const rows = mcpTools()
    .filter((each) => each.set === set)
    .map(({ tool, operation, permission }) => [
      code(tool.name),
      tool.title + (tool.annotations.destructiveHint ? ' (destructive)' : ''),
      argumentsText(tool),
      permissionLink(permission),
      operation === undefined ? 'of MCP alone' : operationLink(operation.name),
    ]);
  return table(['tool', 'what it does', 'arguments', 'needs', 'operation'], rows);
}

function resourcesTable(): string {
  const fixed = RESOURCES.map(({ uri, title, mimeType }) => {
    const operation = RESOURCE_OPERATIONS[uri];
    return [
      code(uri),
      title,
      operation === undefined ? '–' : permissionOf(operation),
      operation === undefined ? '–' : operationLink(operation),
      code(mimeType),
    ];
  });
  const made = RESOURCE_TEMPLATES.map(({ uriTemplate, title, operation, mimeType }) => [
    code(uriTemplate),
    title,
    permissionOf(operation),
    operationLink(operation),
    code(mimeType),
  ]);
  return table(['address', 'what', 'needs', 'operation', 'type'], [...fixed, ...made]);
}

function promptsTable(): string {
  const rows = PROMPTS.map(({ name, description, arguments: known }) => [
    code(name),
    description,
    known.map((each) => code(each.required ? each.name : `${each.name}?`)).join(', '),
  ]);
  return table(['prompt', 'what it asks a model for', 'arguments'], rows);
}

const REQUESTS = `## Requests

- \`POST /mcp\`, one JSON-RPC message in JSON, with \`Accept: application/json, text/event-stream\`. The revision 2026-07-28 and those before it are spoken. There is
  no session, no stream to open by \`GET\` (405) and nothing to subscribe to: any node answers any request, and nothing is sent that was not asked for.
- Credential, tenant, \`X-Correlation-Id\` and \`traceparent\` are headers of HTTP, as in REST. An idempotency key is the argument \`idempotencyKey\` of a tool.
- \`Origin\` and \`Host\` are judged first: 403 names the setting that lets a name in.
- The metadata of the resource (RFC 9728) is at \`/.well-known/oauth-protected-resource/mcp\`, and every 401 names it in \`WWW-Authenticate\`.
- \`Mcp__Enabled=false\` takes both away: 404.`;

const ERRORS = `## Errors

A tool that is refused answers with a result that has \`isError\`: its text begins with the [code](errors.md) and names what is wrong, and \`structuredContent.error\` has
all that the error body of REST has. A resource that is not there, or that the caller may not see, is the error -32602; another refusal of a resource is -31001, with
the same in \`data.error\`. An unknown method is -32601, an unknown tool or prompt -32602.

A request that is refused before its message is looked at has the status of REST and the error -31001, or -32700 where the body is no JSON and -32600 where it is no message,
\`data.error\` beside it.`;

export function mcpPage(): string {
  const own = mcpTools().filter(({ operation }) => operation === undefined);
  return page(
    'MCP',
    `The Model Context Protocol at \`/mcp\`, with the operations of the newest version as tools. ${link('The guide', '../guides/mcp.md')} connects a host. The schemas of arguments and
answers are in ${link('`tools.json`', '../../packages/contract/interfaces/mcp/tools.json')}, and in \`tools/list\`.`,
    [
      REQUESTS,
      `## Tools that read

A caller is shown those that it may call. They change nothing, but that \`exports_create\` makes a file. ${own.map(({ tool }) => code(tool.name)).join(' and ')} are made of
calls of several operations.

${toolsTable('Reading')}

An argument with a question mark may be left out. A page has ${LIMITS.mcpPageSizeDefault} items unless \`limit\` says otherwise.`,
      `## Tools of \`Mcp__Tools=All\`

They are there only where the setting says so. Each takes \`idempotencyKey\` where its operation takes the header.

${toolsTable('All')}`,
      `## Resources

Each read is a call of its operation, with the caller's permissions and sight.

${resourcesTable()}`,
      `## Prompts

What an argument says is quoted as data, never part of the instructions.

${promptsTable()}`,
      ERRORS,
      `## Limits

${limitsTable('MCP')}

A message has ${(LIMITS.requestBytesMax / 1_048_576).toLocaleString('en')} MB at most, also with a batch of events. Requests are counted by
[a limiter of their own](../operating/rates.md). Everything else is [as in REST](limits.md).`,
    ],
  );
}
