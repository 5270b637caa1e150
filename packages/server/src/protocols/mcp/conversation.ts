// What one request to /mcp asks operations with: its caller, who has come in, and the operations as tools have them. Every
// answer that a model gets is made of calls through here.

import { placeholders } from '@tallystick/contract';
import type { OfferedTool } from '@tallystick/contract/mcp';
import type { AnyAnswer } from '../../operations.ts';
import { type Arrival, type Entered, type Gateway, passThrough } from '../../gateway/pipeline.ts';
import type { Telemetry } from '../../telemetry.ts';
import type { Exchange } from '../http/mount.ts';
import { type CallFacts } from '../http/request-headers.ts';
import type { BodyParts, JsonBody } from '../input/json-body.ts';
import { type MessageBinding, receiveMessage } from '../input/message-input.ts';

/** A tool, with what is worked out once for its operation. */
export interface BoundTool extends OfferedTool {
  readonly binding: MessageBinding | undefined;
  /** Members of its answer that no transcript may have. */
  readonly leftOut: readonly (readonly string[])[];
}

/** What all requests share. */
export interface McpParts {
  readonly gateway: Gateway;
  readonly bodies: BodyParts;
  readonly telemetry: Telemetry;
  /** Those that the settings offer, by name. */
  readonly tools: ReadonlyMap<string, BoundTool>;
  /** Bindings of all operations that resources and tools ask. */
  readonly bindingOf: (operation: string) => MessageBinding;
}

export interface Conversation {
  readonly parts: McpParts;
  readonly exchange: Exchange;
  readonly facts: CallFacts;
  readonly sender: Arrival['sender'];
  readonly entered: Entered;
  /** As it was sent. */
  readonly body: JsonBody;
  readonly gone: AbortSignal;
}

export interface Asked {
  readonly binding: MessageBinding;
  readonly input: Readonly<Record<string, unknown>>;
  readonly idempotencyKey?: string | undefined;
  /** Rules of JSON that the input breaks. */
  readonly violations?: JsonBody['violations'];
}

export async function askOperation(
  { parts, exchange, facts, sender, entered, body, gone }: Conversation,
  { binding, input, idempotencyKey, violations = [] }: Asked,
): Promise<AnyAnswer> {
  const { operation, bodyMember } = binding;
  const { path, correlation } = exchange;
  exchange.served = { operation: operation.name, route: path };
  const { tenantId } = input;
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
        const members = Object.entries(input).filter(([name]) => name !== bodyMember);
        const sent = bodyMember === undefined ? undefined : input[bodyMember];
        const received = await receiveMessage(
          binding,
          {
            members: Object.fromEntries(members),
            body: sent === undefined ? undefined : Buffer.from(JSON.stringify(sent)),
            address: `/mcp ${operation.name}`,
          },
          from,
          idempotencyKey !== undefined,
          parts.bodies,
        );
        const { unlisted } = body;
        return violations.length === 0
          ? received
          : { ...received, violations: [...violations, ...received.violations], unlisted };
      },
    },
    parts.gateway,
  );
}
