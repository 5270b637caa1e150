// The message of a call as the input of its operation: a message of Protocol Buffers, or its JSON.

import { AuditError, LIMITS, type Version } from '@tallystick/contract';
import type { MethodPlan } from '@tallystick/contract/grpc';
import { parseJson } from '@tallystick/evidence';
import {
  type BodyLimits,
  type BodyParts,
  type JsonBody,
  LARGE_BYTES,
  readJsonText,
} from '../input/json-body.ts';
import { checkMembersLength, type MessageBinding, type SentMessage } from '../input/message-input.ts';
import { type JsonForm, parseSplit, type SplitJson } from '../protobuf/message-form.ts';
import { messageJson, splitMessage } from '../protobuf/to-json.ts';
import type { Codec } from './form.ts';
import { malformed, tooLarge } from './frames.ts';

/** A method, as far as its messages are read. */
export interface ReadMethod extends Pick<MethodPlan, 'request' | 'path'> {
  readonly version: Version;
  readonly binding: MessageBinding;
  readonly bodyMember: string | undefined;
  readonly bytesMax: number;
}

/** All values of JSON are made at once, so there is less of it. */
export const JSON_BYTES_MAX = LIMITS.requestBytesMax;

/** Where JSON is large, it is read in another thread, by turns of its senders. */
export function sentMessage(
  method: ReadMethod,
  codec: Codec,
  bytes: Uint8Array,
  sender: string,
  bodies: JsonParts,
): SentMessage | Promise<SentMessage> {
  if (codec === 'Json') return sentJson(method, bytes, sender, bodies);
  const { request, path: address, bodyMember, bytesMax, version } = method;
  const limits = { textMax: bytesMax };
  const { members, body } = splitMessage(request, bytes, bodyMember, limits);
  // An object, as it was written a moment ago.
  const sent = { members: parseJson(String(members)) as SentMessage['members'], address };
  if (body === undefined) return { ...sent, body: undefined };
  if (body.bytes.length <= LARGE_BYTES) return { ...sent, body: messageJson(body.plan, body.bytes, limits) };
  const { name: message } = body.plan;
  return { ...sent, body: body.bytes, form: { kind: 'Wire', version, message, textMax: bytesMax } };
}

type JsonParts = Pick<BodyParts, 'budget' | 'parseElsewhere'>;

function sentJson(
  method: ReadMethod,
  bytes: Uint8Array,
  sender: string,
  bodies: JsonParts,
): SentMessage | Promise<SentMessage> {
  if (bytes.length > JSON_BYTES_MAX) throw tooLarge(JSON_BYTES_MAX);
  const { request, version, bodyMember } = method;
  const form: JsonForm = { kind: 'Json', version, message: request.name, bodyMember };
  if (bytes.length <= LARGE_BYTES) return splitJson(method, parseSplit(bytes, form, JSON_LIMITS));
  const read = readJsonText({ bytes, sender, isKeyed: false, form }, JSON_LIMITS, bodies);
  return Promise.resolve(read).then((split) => splitJson(method, split));
}

/** The message is around the body. */
const JSON_LIMITS: BodyLimits = {
  bytesMax: JSON_BYTES_MAX,
  timeoutMs: LIMITS.requestTimeoutMs,
  depthMax: LIMITS.nestingDepthMax + 3,
  violationsMax: LIMITS.errorDetailsMax,
  texts: undefined,
  schema: {},
};

function splitJson(
  { path: address, binding }: ReadMethod,
  { value, violations }: Pick<JsonBody, 'value' | 'violations'>,
): SentMessage {
  // A member that is there twice has no meaning, whatever the operation would say of it.
  if (violations.length > 0)
    throw new AuditError('VALIDATION_FAILED', 'The message breaks rules of JSON.', { details: violations });
  if (value === undefined) throw malformed('its message is not an object');
  // That is what the value of a JsonForm is.
  const { members, body } = value as SplitJson;
  checkMembersLength(binding, Buffer.byteLength(members));
  return {
    members: parseJson(members) as SentMessage['members'],
    body: body === undefined ? undefined : Buffer.from(body),
    address,
  };
}
