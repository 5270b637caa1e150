// A call of a tool: the operation that it stands for, asked with the caller's own credential.

import { AuditError } from '@tallystick/contract';
import { EVENTS_STATISTICS, EVENTS_VERIFY } from '@tallystick/contract/mcp';
import type { CallToolResult } from '@modelcontextprotocol/server';
import { asAuditError } from '../../gateway/shown-error.ts';
import type { BoundTool, Conversation } from './conversation.ts';
import { countEvents, verifyEvent } from './own-tools.ts';
import { askFitting } from './pages.ts';
import { errorResult, resultOf } from './results.ts';

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

async function callOperation(talk: Conversation, { bound, tool }: BoundTool): Promise<CallToolResult> {
  if (bound === undefined) throw new Error(`${tool.name} stands for no operation`);
  const { operation, bodyMember } = bound.binding;
  const parts = talk.message.args.parts(bodyMember);
  const isKeyed = operation.idempotency === 'Key';
  const { idempotencyKey, ...others } = parts.members;
  const members = isKeyed ? others : parts.members;
  const key = isKeyed ? keyIn(idempotencyKey) : undefined;
  const { answer, data } = await askFitting(talk, bound, { ...parts, members, idempotencyKey: key });
  return resultOf(data, answer, operation, talk.exchange.correlation);
}

function keyIn(value: unknown): string | undefined {
  if (value === undefined || value === null) return undefined;
  if (typeof value === 'string') return value;
  const details = [{ field: 'idempotencyKey', issue: 'must be text', value }];
  throw new AuditError('VALIDATION_FAILED', 'idempotencyKey must be text.', { details });
}
