// A call: one operation asked once, with everything about the request that the operation may need to know and
// that is not its input. Made by the gateway, the same for every protocol.

import type { OperationName, TenantId, Version } from '@tallystick/contract';
import type { Caller } from './access/caller.ts';

/** What ties a call to the outside: in every answer, every error and every diagnostic line about it. */
export interface Correlation {
  /** The caller's, or a new UUID. */
  readonly correlationId: string;
  /** False when it was made here; then an event's own correlation id may take its place. */
  readonly correlationIsGiven: boolean;
  /** The W3C trace id, 32 hexadecimal digits. */
  readonly traceId: string;
  /** A ULID of this request alone. */
  readonly requestId: string;
}

export interface Call extends Correlation {
  readonly operation: OperationName;
  readonly version: Version;
  /** Undefined for operations that need no permission. */
  readonly caller: Caller | undefined;
  /** Undefined for operations that concern no tenant. */
  readonly tenant: TenantId | undefined;
  /** Aborts when the time for the call is over: work that is still going on must stop. */
  readonly deadline: AbortSignal;
}
