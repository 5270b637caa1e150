// The head of a tenant's log for the writer: the next index, the leaf to link to, and the open stream. For a tenant
// that continued after a restore it is the head of the current log.

import type { StreamId, TenantId } from '@tallystick/contract';

export interface Head {
  readonly tenantId: TenantId;
  /** The first index of the current log: indexes in entries count from there. */
  logFirstIndex: number;
  /** In the tenant's sequence, like all indexes here. */
  nextIndex: number;
  /** The newest leaf; genesis before the first one. */
  previous: Uint8Array;
  receivedAtMs: number;
  /** Undefined before the first entry. */
  stream: OpenStream | undefined;
}

export interface OpenStream {
  readonly streamId: StreamId;
  readonly firstIndex: number;
  /** When its first entry was received, which determines its age; undefined while it is empty. */
  firstReceivedAtMs: number | undefined;
}
