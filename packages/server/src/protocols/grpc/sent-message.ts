// The message of a call as the input of its operation: a message of Protocol Buffers, or its JSON.

import { AuditError, LIMITS, type Version } from '@tallystick/contract';
import type { MethodPlan } from '@tallystick/contract/grpc';
import { parseJson } from '@tallystick/evidence';
import { LARGE_BYTES } from '../input/json-body.ts';
import type { SentMessage } from '../input/message-input.ts';
import { parseBody } from '../input/parse-body.ts';
import { fromProtoJson } from '../protobuf/json-form.ts';
import { messageJson, splitMessage } from '../protobuf/to-json.ts';
import type { Codec } from './form.ts';
import { malformed, tooLarge } from './frames.ts';

/** A method, as far as its messages are read. */
export interface ReadMethod extends Pick<MethodPlan, 'request' | 'path'> {
  readonly version: Version;
  readonly bodyMember: string | undefined;
  readonly bytesMax: number;
}

/** JSON is read on this thread, so there is less of it. */
export const JSON_BYTES_MAX = LIMITS.requestBytesMax;

export function sentMessage(method: ReadMethod, codec: Codec, bytes: Uint8Array): SentMessage {
  const { request, path: address, bodyMember, bytesMax, version } = method;
  if (codec === 'Json') {
    const { [bodyMember ?? '']: body, ...members } = jsonMessage(method, bytes);
    return { members, body: body === undefined ? undefined : Buffer.from(JSON.stringify(body)), address };
  }
  const limits = { textMax: bytesMax };
  const { members, body } = splitMessage(request, bytes, bodyMember, limits);
  // An object, as it was written a moment ago.
  const sent = { members: parseJson(String(members)) as SentMessage['members'], address };
  if (body === undefined) return { ...sent, body: undefined };
  if (body.bytes.length <= LARGE_BYTES) return { ...sent, body: messageJson(body.plan, body.bytes, limits) };
  return { ...sent, body: body.bytes, form: { version, message: body.plan.name, textMax: bytesMax } };
}

function jsonMessage({ request }: ReadMethod, bytes: Uint8Array): Readonly<Record<string, unknown>> {
  if (bytes.length > JSON_BYTES_MAX) throw tooLarge(JSON_BYTES_MAX);
  const rules = {
    depthMax: JSON_DEPTH_MAX,
    violationsMax: LIMITS.errorDetailsMax,
    texts: undefined,
    schema: {},
  };
  const parsed = parseBody(bytes, rules, false);
  // A member that is there twice has no meaning, whatever the operation would say of it.
  if (parsed.violations.length > 0)
    throw new AuditError('VALIDATION_FAILED', 'The message breaks rules of JSON.', {
      details: parsed.violations,
    });
  const value = fromProtoJson(request, 'value' in parsed ? parsed.value : undefined);
  if (typeof value !== 'object' || value === null || Array.isArray(value))
    throw malformed('its message is not an object');
  return value as Readonly<Record<string, unknown>>;
}

/** The message is around the body. */
const JSON_DEPTH_MAX = LIMITS.nestingDepthMax + 3;
