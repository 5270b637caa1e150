// What one request to /mcp asks operations with: its caller, who has come in, and the operations as tools have them. Every
// answer that a model gets is made of calls through here.

import { type OperationName, placeholders } from '@tallystick/contract';
import type { OfferedTool } from '@tallystick/contract/mcp';
import type { AnyAnswer } from '../../operations.ts';
import { type Arrival, type Entered, type Gateway, passThrough } from '../../gateway/pipeline.ts';
import type { Telemetry } from '../../telemetry.ts';
import type { Exchange } from '../http/mount.ts';
import { type CallFacts } from '../http/request-headers.ts';
import type { BodyParts } from '../input/json-body.ts';
import { type MessageBinding, receiveMessage } from '../input/message-input.ts';
import type { Message, Parts } from './message.ts';

/** What is worked out once for an operation. */
export interface BoundOperation {
  readonly binding: MessageBinding;
  /** Members of its answer that no transcript may have. */
  readonly leftOut: readonly (readonly string[])[];
}

export interface BoundTool extends OfferedTool {
  readonly bound: BoundOperation | undefined;
}

/** What all requests share. */
export interface McpParts {
  readonly gateway: Gateway;
  readonly bodies: BodyParts;
  readonly telemetry: Telemetry;
  /** Those that the settings offer, by name. */
  readonly tools: ReadonlyMap<string, BoundTool>;
  /** Whatever resources and tools ask. */
  readonly boundOf: (operation: OperationName) => BoundOperation;
}

export interface Conversation {
  readonly parts: McpParts;
  readonly exchange: Exchange;
  readonly facts: CallFacts;
  readonly sender: Arrival['sender'];
  readonly entered: Entered;
  readonly message: Message;
  readonly gone: AbortSignal;
}

export interface Asked extends Pick<Parts, 'members'>, Partial<Pick<Parts, 'body' | 'violations'>> {
  readonly binding: MessageBinding;
  readonly idempotencyKey?: string | undefined;
}

export async function askOperation(
  { parts, exchange, facts, sender, entered, gone }: Conversation,
  { binding, members, body, idempotencyKey, violations = [] }: Asked,
): Promise<AnyAnswer> {
  const { operation } = binding;
  const { path, correlation } = exchange;
  exchange.served = { operation: operation.name, route: path };
  const { tenantId } = members;
  const isAddressed = placeholders(operation.rest.path).includes('tenantId') && typeof tenantId === 'string';
  return passThrough(
    {
      ...facts,
      operation,
      version: 'v2',
      addressedTenant: isAddressed ? tenantId : undefined,
      idempotencyKey,
      correlation,
      sender,
      ratePolicy: 'Mcp',
      path,
      entered,
      gone,
      receive: async (from) => {
        const received = await receiveMessage(
          binding,
          { members, body, address: `/mcp ${operation.name}` },
          from,
          idempotencyKey !== undefined,
          parts.bodies,
        );
        return violations.length === 0
          ? received
          : { ...received, violations: allOf(violations, received.violations) };
      },
    },
    parts.gateway,
  );
}

/** The text of the body has been made canonical: what it broke before that is known from the message alone. */
function allOf(sent: Parts['violations'], received: Parts['violations']): Parts['violations'] {
  const nameOf = ({ field, issue }: Parts['violations'][number]) => `${field}\n${issue}`;
  const known = new Set(sent.map(nameOf));
  return [...sent, ...received.filter((each) => !known.has(nameOf(each)))];
}
