// The head of a tenant's log, as whoever appends needs it: where the next entry goes, what it links to, and which stream
// is open. Of a tenant that went on after a restore it is the head of the log that is written to now.

import type { StreamId, TenantId } from '@tallystick/contract';

export interface Head {
  readonly tenantId: TenantId;
  /** Of the first entry of the log that is written to: an entry counts from there. */
  logFirstIndex: number;
  /** In the tenant's sequence, as all indexes here. */
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
  /** When its first entry was received, by which it ages; undefined while it is empty. */
  firstReceivedAtMs: number | undefined;
}
