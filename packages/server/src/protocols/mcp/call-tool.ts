// A call of a tool: the operation that it stands for, asked with the caller's own credential. A page that is too large for a
// model is asked for again with as many items as fit.

import { AuditError } from '@tallystick/contract';
import { EVENTS_STATISTICS, EVENTS_VERIFY } from '@tallystick/contract/mcp';
import { parseJson } from '@tallystick/evidence';
import type { CallToolResult } from '@modelcontextprotocol/server';
import { asAuditError } from '../../gateway/shown-error.ts';
import { type Asked, askOperation, type BoundTool, type Conversation } from './conversation.ts';
import { countEvents, verifyEvent } from './own-tools.ts';
import { dataOf, errorResult, itemsThatFit, resultOf } from './results.ts';

/** Never fails: what goes wrong becomes the result. */
export async function callTool(talk: Conversation, tool: BoundTool): Promise<CallToolResult> {
  const { exchange, parts } = talk;
  try {
    if (tool.tool.name === EVENTS_VERIFY) return await verifyEvent(talk);
    if (tool.tool.name === EVENTS_STATISTICS) return await countEvents(talk);
    return await callOperation(talk, tool);
  } catch (error) {
    const shown = asAuditError(error, exchange, parts.telemetry);
    return errorResult(shown, exchange, parts.gateway.clock.now());
  }
}

async function callOperation(
  talk: Conversation,
  { binding, leftOut, tool }: BoundTool,
): Promise<CallToolResult> {
  if (binding === undefined) throw new Error(`${tool.name} stands for no operation`);
  const { operation, bodyMember } = binding;
  const parts = talk.message.args.parts(bodyMember);
  const isKeyed = operation.idempotency === 'Key';
  const { idempotencyKey, ...others } = parts.members;
  const members = isKeyed ? others : parts.members;
  const asked = { ...parts, binding, members, idempotencyKey: isKeyed ? keyIn(idempotencyKey) : undefined };
  // A body that is large is handed over to another thread, so what is asked for again is a copy.
  const body = parts.body?.slice();
  const answer = await askOperation(talk, asked);
  const data = dataOf(answer, leftOut);
  const { correlation } = talk.exchange;
  const result = resultOf(data, answer, operation, correlation);
  const page = data === undefined ? undefined : pageIn(data);
  const fitting = page === undefined ? undefined : itemsThatFit(page, textLength(result));
  if (fitting === undefined) return result;
  const smaller = await askOperation(talk, { ...asked, ...withLimit(members, body, fitting) });
  return resultOf(dataOf(smaller, leftOut), smaller, operation, correlation);
}

function keyIn(value: unknown): string | undefined {
  if (value === undefined || typeof value === 'string') return value;
  const details = [{ field: 'idempotencyKey', issue: 'must be text', value }];
  throw new AuditError('VALIDATION_FAILED', 'idempotencyKey must be text.', { details });
}

const textLength = ({ content }: CallToolResult): number =>
  content.reduce((sum, each) => sum + (each.type === 'text' ? each.text.length : 0), 0);

function pageIn({ data, results }: Record<string, unknown>): readonly unknown[] | undefined {
  const items = data ?? results;
  return Array.isArray(items) ? items : undefined;
}

/** Of a search the limit stands in its body, which is a sound one by now. */
function withLimit(
  members: Readonly<Record<string, unknown>>,
  body: Uint8Array | undefined,
  limit: number,
): Pick<Asked, 'members' | 'body'> {
  if (body === undefined) return { members: { ...members, limit }, body: undefined };
  const search = parseJson(Buffer.from(body).toString()) as { pagination?: object };
  const smaller = { ...search, pagination: { ...search.pagination, limit } };
  return { members, body: Buffer.from(JSON.stringify(smaller)) };
}
