// The answer of an operation as the message of its method. Long pages are encoded with pauses between their items, because this
// thread answers everybody.

import { ETAG } from '@tallystick/contract/grpc';
import type { AnyAnswer } from '../../operations.ts';
import type { Clock } from '../../runtime/clock.ts';
import { pausesBy } from '../../runtime/pause.ts';
import { writeJson } from '../../written-json.ts';
import { recordTag } from '../http/record-tag.ts';
import { encodeMessage } from '../protobuf/encode.ts';
import { toProtoJson } from '../protobuf/json-form.ts';
import type { Codec } from './form.ts';
import type { Method } from './methods.ts';

type Members = Readonly<Record<string, unknown>>;

/** At once, but for pages. */
export function answerMessage(
  method: Method,
  answer: AnyAnswer,
  codec: Codec,
  clock: Clock,
): Uint8Array | Promise<Uint8Array> {
  const { response, bodyField, operation } = method;
  const body = answer.body as Members | undefined;
  const members: Members = bodyField === undefined ? (body ?? {}) : { [bodyField]: body };
  const isTagged = response.fields.some(({ name }) => name === ETAG);
  const tag = isTagged ? recordTag(operation, answer) : undefined;
  const whole = tag === undefined ? members : { ...members, [ETAG]: tag };
  if (codec === 'Json') return Buffer.from(writeJson(toProtoJson(response, whole)));
  const { data } = whole;
  if (operation.output.kind !== 'List' || !Array.isArray(data) || data.length < FEW_ITEMS)
    return encodeMessage(response, whole);
  return encodePage(method, { ...whole, data: [] }, data, clock);
}

const FEW_ITEMS = 10;

/** Parts of a message that are put behind one another are one message. */
async function encodePage(
  { response }: Method,
  others: Members,
  items: readonly unknown[],
  clock: Clock,
): Promise<Uint8Array> {
  const pause = pausesBy(clock);
  const pieces: Uint8Array[] = [];
  for (const item of items) {
    pieces.push(encodeMessage(response, { data: [item] }));
    await pause();
  }
  return Buffer.concat([...pieces, encodeMessage(response, others)]);
}
