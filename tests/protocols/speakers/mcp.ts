// Speaks MCP as its newest revision has it: JSON-RPC by POST, one message a request, without a session and without the SDK.

import type { AnswerKind, ErrorInfo, Operation, OperationName } from '@tallystick/contract';
import { operationNamed } from '@tallystick/contract';
import { toolName } from '@tallystick/contract/mcp';
import { assertFits } from '../../../packages/server/src/testing/mcp-caller.ts';
import type { TestApp } from '../../../packages/server/src/testing/test-app.ts';
import type { Asking, Spoken, Told } from '../speaker.ts';
import { callHeaders } from './rest.ts';

export const MCP: Spoken = {
  protocol: 'mcp',
  // One interface, and it is the newest.
  versions: ['v2'],
  settings: { Mcp__Tools: 'All' },
  speak: (app) =>
    Promise.resolve({
      protocol: 'mcp',
      versions: MCP.versions,
      ask: (name, input, by = {}) => askTool(app, name, input, by),
      [Symbol.asyncDispose]: () => Promise.resolve(),
    }),
};

export const REVISION = '2026-07-28';
const META = {
  'io.modelcontextprotocol/protocolVersion': REVISION,
  'io.modelcontextprotocol/clientInfo': { name: 'a test', version: '1' },
  'io.modelcontextprotocol/clientCapabilities': {},
};

export interface RpcAnswer {
  readonly result?: Record<string, unknown>;
  readonly error?: { readonly code: number; readonly message: string; readonly data?: { error?: ErrorInfo } };
}

export interface RpcTold {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly answer: RpcAnswer;
}

/** One message, as the newest revision frames it. */
export async function askRpc(
  { url }: Pick<TestApp, 'url'>,
  method: string,
  params: Readonly<Record<string, unknown>> = {},
  headers: Readonly<Record<string, string>> = {},
): Promise<RpcTold> {
  const { name, uri } = params;
  const named = name ?? uri;
  const response = await fetch(`${url}/mcp`, {
    method: 'POST',
    headers: {
      'Content-Type': 'application/json',
      Accept: 'application/json, text/event-stream',
      'MCP-Protocol-Version': REVISION,
      'Mcp-Method': method,
      ...(typeof named === 'string' && { 'Mcp-Name': named }),
      ...headers,
    },
    body: JSON.stringify({ jsonrpc: '2.0', id: 1, method, params: { ...params, _meta: META } }),
  });
  const answer = (await response.json()) as RpcAnswer;
  return { status: response.status, headers: Object.fromEntries(response.headers), answer };
}

async function askTool(
  app: Pick<TestApp, 'url'>,
  name: OperationName,
  input: object,
  { idempotencyKey, ...by }: Asking,
): Promise<Told> {
  const operation: Operation<OperationName> = operationNamed(name);
  const args = { ...input, ...(idempotencyKey !== undefined && { idempotencyKey }) };
  const sent = { name: toolName(operation.name), arguments: args };
  const { answer, headers } = await askRpc(app, 'tools/call', sent, callHeaders(by));
  const { result, error } = answer;
  if (error !== undefined) {
    if (error.data?.error === undefined) throw new Error(`${name}: ${error.code} ${error.message}`);
    return { error: error.data.error, headers };
  }
  assertFits(sent.name, result!);
  const { structuredContent, isError, _meta } = result as {
    structuredContent?: { error?: ErrorInfo };
    isError?: boolean;
    _meta?: Record<string, unknown>;
  };
  if (isError === true) return { error: structuredContent!.error!, headers };
  return { kind: _meta!['tallystick/answer'] as AnswerKind, body: structuredContent, headers };
}
