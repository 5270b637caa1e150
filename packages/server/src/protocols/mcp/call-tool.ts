// A call of a tool: the operation that it stands for, asked with the caller's own credential. A page that is too large for a
// model is asked for again with as many items as fit.

import { AuditError, type ErrorDetail } from '@tallystick/contract';
import { EVENTS_STATISTICS, EVENTS_VERIFY } from '@tallystick/contract/mcp';
import type { CallToolResult } from '@modelcontextprotocol/server';
import { asAuditError } from '../../gateway/shown-error.ts';
import { askOperation, type BoundTool, type Conversation } from './conversation.ts';
import { countEvents, verifyEvent } from './own-tools.ts';
import { dataOf, errorResult, itemsThatFit, resultOf } from './results.ts';

export type Arguments = Readonly<Record<string, unknown>>;

/** Never fails: what goes wrong becomes the result. */
export async function callTool(
  talk: Conversation,
  tool: BoundTool,
  args: Arguments,
): Promise<CallToolResult> {
  const { exchange, parts } = talk;
  try {
    if (tool.tool.name === EVENTS_VERIFY) return await verifyEvent(talk, args);
    if (tool.tool.name === EVENTS_STATISTICS) return await countEvents(talk, args);
    return await callOperation(talk, tool, args);
  } catch (error) {
    const shown = asAuditError(error, exchange, parts.telemetry);
    return errorResult(shown, exchange, parts.gateway.clock.now());
  }
}

async function callOperation(talk: Conversation, tool: BoundTool, args: Arguments): Promise<CallToolResult> {
  const { binding, leftOut } = tool;
  if (binding === undefined) throw new Error(`${tool.tool.name} stands for no operation`);
  const { operation } = binding;
  const { idempotencyKey, ...others } =
    operation.idempotency === 'Key' ? args : { idempotencyKey: undefined, ...args };
  const input = operation.idempotency === 'Key' ? others : args;
  const asked = {
    binding,
    idempotencyKey: keyIn(idempotencyKey),
    violations: violationsOf(talk, binding.bodyMember),
  };
  const answer = await askOperation(talk, { ...asked, input });
  const data = dataOf(answer, leftOut);
  const { correlation } = talk.exchange;
  const result = resultOf(data, answer, operation, correlation);
  const page = data === undefined ? undefined : pageIn(data);
  const fitting = page === undefined ? undefined : itemsThatFit(page, textLength(result));
  if (fitting === undefined) return result;
  const smaller = await askOperation(talk, { ...asked, input: withLimit(input, fitting) });
  return resultOf(dataOf(smaller, leftOut), smaller, operation, correlation);
}

function keyIn(value: unknown): string | undefined {
  if (value === undefined || typeof value === 'string') return value;
  const details = [{ field: 'idempotencyKey', issue: 'must be text', value }];
  throw new AuditError('VALIDATION_FAILED', 'idempotencyKey must be text.', { details });
}

/** Rules of JSON that the arguments break, named by their places in the input as the other protocols name them. */
function violationsOf({ body }: Conversation, bodyMember: string | undefined): readonly ErrorDetail[] {
  const prefixes = [...(bodyMember === undefined ? [] : [`${IN_ARGUMENTS}${bodyMember}.`]), IN_ARGUMENTS];
  return body.violations.map((detail) => {
    const prefix = prefixes.find((each) => detail.field.startsWith(each)) ?? '';
    return { ...detail, field: detail.field.slice(prefix.length) };
  });
}

export const IN_ARGUMENTS = 'params.arguments.';

const textLength = ({ content }: CallToolResult): number =>
  content.reduce((sum, each) => sum + (each.type === 'text' ? each.text.length : 0), 0);

function pageIn({ data, results }: Record<string, unknown>): readonly unknown[] | undefined {
  const items = data ?? results;
  return Array.isArray(items) ? items : undefined;
}

/** Of a search the limit stands in its body. */
function withLimit(input: Arguments, limit: number): Arguments {
  const { search } = input;
  if (typeof search !== 'object' || search === null) return { ...input, limit };
  const { pagination } = search as { pagination?: object };
  return { ...input, search: { ...search, pagination: { ...pagination, limit } } };
}
