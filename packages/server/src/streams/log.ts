// The log as the rest of the server knows it: the port through which drafts become events, and the one through
// which events are read. A backend makes each append atomic in its own way; what it must promise is written here
// and held by storage/conformance.

import type { Classification, EventId, OperationName, StreamId, TenantId } from '@tallystick/contract';
import type { Kind } from '@tallystick/evidence';

/** An event as accepted, without a place in the log yet. */
export interface Draft {
  readonly kind: Kind;
  readonly eventId: EventId;
  /** The RFC 8785 texts of its two groups as UTF-8: exactly the bytes that are hashed, stored and shown. */
  readonly texts: readonly [Uint8Array, Uint8Array];
  readonly classification: Classification;
  /** When its content may be removed; undefined: never (notices). */
  readonly expiresAtMs: number | undefined;
  /** HMAC of the fields as the client sent them; there when the client chose the event's id. */
  readonly sentFingerprint?: Uint8Array | undefined;
}

/** What makes a request safe to repeat: the caller's key, and what was asked under it. */
export interface Once {
  readonly operation: OperationName;
  readonly key: string;
  /** HMAC of the request, 32 bytes. */
  readonly fingerprint: Uint8Array;
  readonly expiresAtMs: number;
  /** Whatever the operation needs besides the outcomes to give its answer again; ids, statuses and codes only. */
  readonly note: string;
}

export interface AppendRequest {
  readonly tenant: TenantId;
  readonly drafts: readonly Draft[];
  /** All drafts are appended, or none. */
  readonly atomic: boolean;
  /** Used up in the same commit, and only when at least one draft was appended or recognised. */
  readonly once?: Once | undefined;
}

/** Appended now, or recognised by its id and its fingerprint as one that was appended before. */
export interface Placed {
  readonly status: 'Appended' | 'Duplicate';
  readonly eventId: EventId;
  readonly index: number;
  readonly receivedAtMs: number;
}

export type DraftOutcome =
  | Placed
  /** The id is taken by other content, or by content that is no longer there. */
  | { readonly status: 'Conflict'; readonly eventId: EventId }
  /** Sound, but another draft of its atomic request was not. */
  | { readonly status: 'NotAppended'; readonly eventId: EventId };

/** What a key was used up for. */
export interface UsedKey {
  readonly fingerprint: Uint8Array;
  readonly expiresAtMs: number;
  readonly note: string;
  readonly outcomes: readonly DraftOutcome[];
}

export type AppendResult =
  | { readonly status: 'Done'; readonly outcomes: readonly DraftOutcome[] }
  /** The key was used up before, by the same request (`Repeated`) or by another one (`KeyReused`). */
  | { readonly status: 'Repeated'; readonly used: UsedKey }
  | { readonly status: 'KeyReused' };

/** The request could not be appended for a reason of its own; the others of its pool were. */
export interface AppendFault {
  readonly status: 'Faulty';
  readonly error: Error;
}

export interface LogWriter {
  /**
   * Appends all requests in one commit and resolves when they are durable: one result per request, in order.
   * Within a tenant, indexes have no gap, each entry links to the one before, and receivedAt never runs backwards.
   * Rejects when nothing is known to be durable; then what was asked may be there or not, and asking again with the
   * same key or ids is safe. `nowMs` is the wall clock; keys that expired by `steadyNowMs` do not count.
   */
  append(requests: readonly AppendRequest[], now: AppendTime): Promise<(AppendResult | AppendFault)[]>;
  /** Forgets a portion of the keys that expired by `steadyNowMs`; true when there may be more. */
  sweepUsedKeys(steadyNowMs: number): Promise<boolean>;
  /** Resolves when a commit without events is durable: tells whether appends would succeed. */
  probe(): Promise<void>;
}

export interface AppendTime {
  readonly nowMs: number;
  readonly steadyNowMs: number;
}

/** An event as it is stored. */
export interface StoredEvent {
  /** The 116 bytes. */
  readonly entry: Uint8Array;
  readonly leaf: Uint8Array;
  readonly classification: Classification;
  readonly streamId: StreamId;
  /** Undefined once the content is removed. */
  readonly content: StoredContent | undefined;
}

export interface StoredContent {
  readonly texts: readonly [string, string];
  readonly expiresAtMs: number | undefined;
}

/** One tenant's log. Whoever holds it has no word for another tenant's. */
export interface TenantLog {
  /**
   * Undefined when there is none, or its classification is not among `visible`. That is settled before anything
   * else of it is read, so that one that may not be seen takes no longer than one that is not there.
   */
  event(eventId: EventId, visible: readonly Classification[]): Promise<StoredEvent | undefined>;
  /** What the key was used up for, unless that has expired by `steadyNowMs`. */
  usedKey(operation: OperationName, key: string, steadyNowMs: number): Promise<UsedKey | undefined>;
}

export interface LogReader {
  forTenant(tenant: TenantId): TenantLog;
}
