// One message to /mcp over real HTTP, by an older revision of MCP, and its answer; for tests. What a tool answers is held against
// the output schema that it shows.

import assert from 'node:assert/strict';
import { mcpTools } from '@tallystick/contract/mcp';
import { Ajv2020, type ValidateFunction } from 'ajv/dist/2020.js';
import type { TestApp } from './test-app.ts';

export interface Rpc {
  readonly result?: Readonly<Record<string, unknown>>;
  readonly error?: { readonly code: number; readonly message: string; readonly data?: unknown };
}

export interface Sender {
  readonly key?: string;
  readonly tenant?: string;
  readonly headers?: Readonly<Record<string, string>>;
}

export interface ToldByMcp {
  readonly status: number;
  readonly headers: Headers;
  readonly answer: Rpc;
}

/** A body that is text is sent as it is. The answer of these revisions is a stream of one event. */
export async function postMessage(
  { url }: Pick<TestApp, 'url'>,
  body: unknown,
  { key, tenant, headers }: Sender,
): Promise<ToldByMcp> {
  const response = await fetch(`${url}/mcp`, {
    method: 'POST',
    headers: {
      'Content-Type': 'application/json',
      Accept: 'application/json, text/event-stream',
      'MCP-Protocol-Version': '2025-06-18',
      ...(key !== undefined && { 'X-API-Key': key }),
      ...(tenant !== undefined && { 'X-Tenant-Id': tenant }),
      ...headers,
    },
    body: typeof body === 'string' ? body : JSON.stringify(body),
  });
  const text = await response.text();
  const json = /^data: (.*)$/m.exec(text)?.[1] ?? text;
  return {
    status: response.status,
    headers: response.headers,
    answer: (json === '' ? {} : JSON.parse(json)) as Rpc,
  };
}

export interface ToolTold {
  readonly content: readonly { readonly type: string; readonly text: string }[];
  readonly structuredContent: Readonly<Record<string, unknown>>;
  readonly isError?: boolean;
  readonly error: Rpc['error'];
}

export async function callTool(
  app: Pick<TestApp, 'url'>,
  name: string,
  args: object,
  sender: Sender,
): Promise<ToolTold> {
  const params = { name, arguments: args };
  const { answer } = await postMessage(app, { jsonrpc: '2.0', id: 1, method: 'tools/call', params }, sender);
  const { result, error } = answer;
  if (result !== undefined) assertFits(name, result);
  return { ...(result as Omit<ToolTold, 'error'> | undefined), error } as ToolTold;
}

const ajv = new Ajv2020({ validateFormats: false });
const validators = new Map<string, ValidateFunction | undefined>();

/** An error has a form of its own. */
export function assertFits(name: string, { structuredContent, isError }: Rpc['result'] & object): void {
  if (isError === true) return;
  if (!validators.has(name)) {
    const schema = mcpTools().find(({ tool }) => tool.name === name)?.tool.outputSchema;
    validators.set(name, schema && ajv.compile(schema));
  }
  const validate = validators.get(name);
  if (validate === undefined) assert.equal(structuredContent, undefined, name);
  else assert.ok(validate(structuredContent), `${name}: ${ajv.errorsText(validate.errors)}`);
}
