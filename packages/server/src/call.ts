// A call: one operation asked once, with everything about the request that the operation may need to know and
// that is not its input. Made by the gateway, the same for every protocol.

import {
  AuditError,
  type ErrorCode,
  type ErrorDetail,
  ERRORS,
  LIMITS,
  type OperationName,
  type TenantId,
  type Version,
} from '@tallystick/contract';
import { type JsonOutline, parseJson } from '@tallystick/evidence';
import type { Caller } from './access/caller.ts';
import type { TenantRecord } from './access/tenants.ts';
import type { Deadline } from './runtime/deadline.ts';

/** The ids of a call that callers know too: in every answer, error and diagnostic line about it. */
export interface Correlation {
  /** The caller's, or a new UUID. */
  readonly correlationId: string;
  /** False when it was made here. */
  readonly correlationIsGiven: boolean;
  /** The W3C trace id, 32 hexadecimal digits. */
  readonly traceId: string;
  /** A ULID of this request alone. */
  readonly requestId: string;
}

export interface Call {
  readonly correlation: Correlation;
  readonly operation: OperationName;
  readonly version: Version;
  /** Where the request was sent, as its protocol has it; in REST without its query. */
  readonly path: string;
  /** Undefined for operations that need no permission. */
  readonly caller: Caller | undefined;
  /** Undefined for operations that concern no tenant. */
  readonly tenant: TenantId | undefined;
  /** The record of the tenant; undefined before its first write, and for a call without a tenant. */
  readonly tenantRecord: TenantRecord | undefined;
  /** The idempotency key of the request; undefined if it has none. */
  readonly once: IdempotencyKey | undefined;
  /** The time limit of the call: work that passes it must stop. */
  readonly deadline: Deadline;
}

/** The caller's idempotency key, with what was asked under it. */
export interface IdempotencyKey {
  readonly key: string;
  /** Of what was asked, and of the caller. */
  readonly fingerprint: (tenant: TenantRecord) => Uint8Array;
}

/** The message for another request with a used idempotency key; also for the same one, if its caller may not know of it. */
export function keyReused(): AuditError {
  return new AuditError('IDEMPOTENCY_KEY_REUSED', ERRORS.IDEMPOTENCY_KEY_REUSED.meaning);
}

/** Where a member of an operation's input travelled. A body is one member; a message holds all of them by their names. */
export type InputPlace = 'Path' | 'Header' | 'Body' | 'Message' | 'Query';

/**
 * An object that nobody needs to look into on the way in, as the bytes of its RFC 8785 text: what a protocol may put
 * in place of a member that the contract marks `x-kept-as-text`.
 */
export class JsonText {
  readonly bytes: Uint8Array;

  constructor(bytes: Uint8Array) {
    this.bytes = bytes;
  }
}

/**
 * A value that nobody has read yet: where it stands in the RFC 8785 text of the body. What a protocol may put in place
 * of one whose members the contract marks `x-kept-as-text`, be it the body or the items of a list in it.
 */
export class UnreadValue {
  readonly outline: JsonOutline;
  readonly node: number;
  readonly #read: ReadNode;

  constructor(outline: JsonOutline, node: number, read: ReadNode) {
    this.outline = outline;
    this.node = node;
    this.#read = read;
  }

  /**
   * The value, with a JsonText for each member that is kept as text, and at most so many members in an object that the
   * operation does not know: each is an error, and no more are listed. What stands deeper than it looks is left out.
   */
  read(unknownMax: number = LIMITS.errorDetailsMax): unknown {
    return this.#read(this.node, unknownMax);
  }

  /** One member, the rest left unread, a container without its inside; undefined where there is none. */
  member(name: string): unknown {
    const { outline, node } = this;
    const found = outline.isObject(node) ? outline.member(node, keyOf(name)) : undefined;
    if (found === undefined) return undefined;
    if (outline.isObject(found)) return {};
    return outline.isList(found) ? [] : parseJson(Buffer.from(outline.value(found)).toString());
  }
}

type ReadNode = (node: number, unknownMax: number) => unknown;

/** Names that the contract knows, so there are few. */
const keys = new Map<string, Uint8Array>();

function keyOf(name: string): Uint8Array {
  const known = keys.get(name);
  if (known !== undefined) return known;
  const key = Buffer.from(name);
  keys.set(name, key);
  return key;
}

/** A member of what was received, read or not; undefined where there is none. */
export function receivedMember(value: unknown, name: string): unknown {
  if (value instanceof UnreadValue) return value.member(name);
  if (typeof value !== 'object' || value === null || !Object.hasOwn(value, name)) return undefined;
  return (value as Readonly<Record<string, unknown>>)[name];
}

/** A rule that no schema states, and that the input of an operation breaks. */
export interface OwnViolation {
  /** The member of the input that it is in. */
  readonly member: string;
  readonly detail: ErrorDetail;
  /** Undefined: that of the place where the member travelled. */
  readonly code?: ErrorCode;
}

/** Parameters that the operation does not have, beside those that it has. */
export interface UnknownParameters {
  readonly names: readonly string[];
  readonly known: readonly string[];
}

/** A request as its protocol hands it over, before validation. */
export interface Received {
  readonly input: Readonly<Record<string, unknown>>;
  /** Rules of JSON itself that the body breaks: a duplicate key, a number that no double holds. */
  readonly violations: readonly ErrorDetail[];
  /** How many more there are than are listed. */
  readonly unlisted: number;
  /** The bytes that unread values stand in; undefined where there are none. */
  readonly text: Uint8Array | undefined;
  /** What was asked, as the protocol spells it, before defaults are filled in; undefined without an idempotency key. */
  readonly fingerprinted: readonly (string | Uint8Array)[] | undefined;
  readonly unknownParameters?: UnknownParameters;
  /** Where a member of the input came from, and what its sender calls it; a body has no name of its own. */
  readonly placeOf: (member: string) => InputPlace;
}

/** An operation cannot go on: the store does not hold an event as it was accepted. The operator has been told. */
export class AlteredEventError extends Error {
  override readonly name = 'AlteredEventError';
}
