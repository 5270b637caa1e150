// The input of an operation, sent as one message: its members by their names, and the one that REST sends as the body as
// JSON text. Protocols that have values or a wire format of their own make that text, so that all input is scanned, kept
// as text and validated by the same code.

import { ok as assert } from 'node:assert/strict';
import { hash } from 'node:crypto';
import {
  asJson,
  AuditError,
  type JsonSchema,
  type Operation,
  type OperationName,
  placeholders,
} from '@tallystick/contract';
import type { Received } from '../../call.ts';
import type { WireForm } from '../protobuf/wire-form.ts';
import { bodyLimits, type MemberLimits, memberLimits } from './body-limits.ts';
import { spelledIdentifier } from './identifiers.ts';
import { type BodyLimits, type BodyParts, type JsonBody, readJsonText } from './json-body.ts';
import { bodyValue } from './lean-body.ts';
import { parseBody } from './parse-body.ts';

/** Worked out once for an operation. */
export interface MessageBinding {
  readonly operation: Operation<OperationName>;
  /** The member that REST sends as the body; undefined where there is none. */
  readonly bodyMember: string | undefined;
  readonly limits: BodyLimits;
  readonly memberLimits: MemberLimits;
  /** Identifiers, which are read without regard to case, as in a path of REST. */
  readonly identifiers: readonly (readonly [member: string, schema: JsonSchema])[];
  readonly placeOf: Received['placeOf'];
}

export interface SentMessage {
  /** Plain JSON values: identifiers, `limit`, `cursor`, filters. */
  readonly members: Readonly<Record<string, unknown>>;
  /** The JSON text of the body member. It is handed over to another thread where it is large. */
  readonly body: Uint8Array | undefined;
  /** What the body is, where it is no JSON yet. */
  readonly form?: WireForm | undefined;
  /** What a repeat is recognised by beside its content: `/graphql/v1 ingestEvent`, `/tallystick.v1.EventsService/Ingest`. */
  readonly address: string;
}

export function messageBinding(operation: Operation<OperationName>): MessageBinding {
  const { rest, input } = operation;
  return {
    operation,
    bodyMember: rest.body,
    limits: bodyLimits(operation),
    memberLimits: memberLimits(operation),
    identifiers: placeholders(rest.path).map((name) => [name, asJson(input.properties[name]!)]),
    placeOf: (member) => (member === rest.body ? 'Body' : 'Message'),
  };
}

/** At once, unless the body is large. `isKeyed`: the call has an idempotency key, so it must be known again. */
export function receiveMessage(
  binding: MessageBinding,
  { members, body, form, address }: SentMessage,
  sender: string,
  isKeyed: boolean,
  parts: Pick<BodyParts, 'budget' | 'parseElsewhere'>,
): Received | Promise<Received> {
  const { bodyMember, placeOf } = binding;
  assert(body === undefined || bodyMember !== undefined, 'only an operation with a body is sent one');
  const named = readMembers(binding, members, isKeyed);
  const take = (sent: JsonBody | undefined): Received => {
    const input: Record<string, unknown> = named.input;
    if (sent !== undefined && bodyMember !== undefined) input[bodyMember] = sent.value;
    return {
      input,
      violations: [...named.violations, ...(sent?.violations ?? [])],
      unlisted: named.unlisted + (sent?.unlisted ?? 0),
      text: sent?.text,
      fingerprinted: isKeyed ? [address, '\n', named.digest, '\n', sent?.digest ?? NO_BODY] : undefined,
      placeOf,
    };
  };
  if (body === undefined || bodyMember === undefined) return take(undefined);
  const read = readJsonText({ bytes: body, sender, isKeyed, form }, binding.limits, parts);
  return read instanceof Promise ? read.then(take) : take(read);
}

/** Scanned as a body is: half a surrogate is refused wherever it stands. */
function readMembers(
  binding: MessageBinding,
  members: SentMessage['members'],
  isKeyed: boolean,
): Pick<JsonBody, 'violations' | 'unlisted'> & { input: Record<string, unknown>; digest: Uint8Array } {
  const { memberLimits: limits, identifiers } = binding;
  const bytes = Buffer.from(JSON.stringify(members));
  if (bytes.length === EMPTY_LENGTH) return { input: {}, digest: NO_MEMBERS, violations: [], unlisted: 0 };
  checkMembersLength(binding, bytes.length);
  const parsed = parseBody(bytes, limits, isKeyed);
  // Without members that are kept as text it is a value, and as an object was written, an object.
  const input = bodyValue(parsed, limits) as Record<string, unknown>;
  for (const [name, schema] of identifiers) {
    if (input[name] !== undefined) input[name] = spelledIdentifier(schema, input[name]);
  }
  return {
    input,
    digest: parsed.digest ?? NO_MEMBERS,
    violations: parsed.violations,
    unlisted: parsed.unlisted,
  };
}

/** Of the JSON text of all members but the body: refused before values are made of it. */
export function checkMembersLength(
  { operation, memberLimits }: Pick<MessageBinding, 'operation' | 'memberLimits'>,
  length: number,
): void {
  const { bytesMax } = memberLimits;
  if (length <= bytesMax) return;
  const what = operation.rest.body === undefined ? '' : ` without ${operation.rest.body}`;
  const message = `The input${what} is ${length} bytes as JSON; the limit is ${bytesMax}.`;
  throw new AuditError('REQUEST_TOO_LARGE', message);
}

const EMPTY_LENGTH = '{}'.length;

const NO_BODY = hash('sha256', 'null', 'buffer');
const NO_MEMBERS = hash('sha256', '{}', 'buffer');
