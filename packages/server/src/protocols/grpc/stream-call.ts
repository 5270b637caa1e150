// Calls whose answers last: the tail of a log, and batches for as long as their sender has some. Each page and each batch is a
// call of its operation, so a credential that is revoked ends the stream, and nothing is shown or stored that the operation
// would refuse. Streams are counted with all answers that last, and end when the service drains.

import {
  AuditError,
  type BatchResult,
  ERRORS,
  REST_STATUS_OF_ERROR,
  type TenantId,
} from '@tallystick/contract';
import { type MessagePlan, TAIL } from '@tallystick/contract/grpc';
import { type Arrival, enter, passThrough } from '../../gateway/pipeline.ts';
import { asAuditError, shownError } from '../../gateway/shown-error.ts';
import { writeJson } from '../../written-json.ts';
import type { Exchange } from '../http/mount.ts';
import { ratedSender } from '../http/rated-sender.ts';
import { callFacts } from '../http/request-headers.ts';
import { receiveMessage } from '../input/message-input.ts';
import { encodeMessage } from '../protobuf/encode.ts';
import { toProtoJson } from '../protobuf/json-form.ts';
import type { LastingAnswer } from '../streaming/lasting-answers.ts';
import { inOrder } from '../streaming/in-order.ts';
import { openTail } from '../streaming/tail.ts';
import { tailAsk, type TailArrival } from '../streaming/tail-ask.ts';
import { type CallParts, readMessage } from './call.ts';
import { type CallForm, encodingOf } from './form.ts';
import { sentFrames } from './sent-frames.ts';
import { type Frame, unpacked } from './frames.ts';
import type { Method } from './methods.ts';
import { beginLasting, lastingReply } from './lasting-reply.ts';
import type { CallReply } from './reply.ts';
import { sentMessage } from './sent-message.ts';

interface StreamCall {
  readonly exchange: Exchange;
  readonly method: Method;
  readonly form: CallForm;
  readonly parts: CallParts;
  readonly arrival: TailArrival;
  readonly tenant: TenantId;
  readonly lasting: LastingAnswer;
}

/** Rejects before anything was answered; what goes wrong later ends the stream with its status. */
export async function streamCall(
  exchange: Exchange,
  method: Method,
  form: CallForm,
  parts: CallParts,
  gone: AbortSignal,
): Promise<CallReply> {
  const { gateway } = parts;
  const { version, response } = method;
  const sender = ratedSender(exchange, gateway.clock);
  const { correlation, path } = exchange;
  const arrival = { ...callFacts(exchange), version, correlation, sender, path, gone };
  const { tenant } = await enter(arrival, gateway);
  if (tenant === undefined) throw new AuditError('MISSING_TENANT', ERRORS.MISSING_TENANT.meaning);
  const lasting = beginLasting(exchange, tenant, parts.lasting, parts);
  try {
    const lastingArrival = { ...arrival, gone: lasting.wait.gone };
    const call = { exchange, method, form, parts, arrival: lastingArrival, tenant, lasting: lasting.answer };
    const values = method.method === TAIL ? await tailed(call) : ingested(call);
    return lastingReply(exchange, form, lasting, encoded(values, response, form), parts);
  } catch (error) {
    lasting[Symbol.dispose]();
    throw error;
  }
}

async function* encoded(
  values: AsyncIterable<object>,
  response: MessagePlan,
  { codec }: CallForm,
): AsyncGenerator<Uint8Array> {
  for await (const value of values) {
    yield codec === 'Proto'
      ? encodeMessage(response, value)
      : Buffer.from(writeJson(toProtoJson(response, value)));
  }
}

async function tailed(call: StreamCall): Promise<AsyncIterable<object>> {
  const { method, form, parts, tenant, lasting, arrival } = call;
  const { gateway } = parts;
  const bytes = await readMessage(call.exchange, method, form, { sender: tenant, onSent: () => {} }, parts);
  const { members } = await sentMessage(method, form.codec, bytes, tenant, parts.bodies);
  const { fromSequence } = members as { fromSequence?: number };
  if (fromSequence !== undefined && !(Number.isSafeInteger(fromSequence) && fromSequence >= 1)) {
    const [field, issue] = ['fromSequence', 'must be a whole number from 1'];
    const details = [{ field, issue, value: fromSequence }];
    throw new AuditError('VALIDATION_FAILED', `${field} ${issue}.`, { details });
  }
  const { growth, clock } = gateway;
  const ask = tailAsk(arrival, gateway);
  return shownEntries(await openTail(fromSequence, { ask, tenant, growth, clock, lasting }));
}

async function* shownEntries(entries: AsyncIterable<object>): AsyncGenerator<object> {
  for await (const streamEvent of entries) yield { streamEvent };
}

/**
 * One batch is stored after the other, and the next one is read meanwhile. No more is taken than fits into the window beside
 * these, which holds the sender.
 */
function ingested(call: StreamCall): AsyncIterable<object> {
  const { exchange, method, tenant, lasting, parts } = call;
  const { request } = exchange;
  const limits = { bytesMax: method.bytesMax, stillMs: STILL_MS, stop: lasting.signal };
  let before: Promise<unknown> = Promise.resolve();
  const work = async (frame: Frame, index: number) => {
    const done = ingestedBatch(call, frame, before);
    before = done.catch(() => {});
    return { index, ...(await done) };
  };
  return inOrder(sentFrames(request, tenant, limits, parts.bodies), work, AT_WORK_MAX);
}

/** The batch that is stored, and the one that is read. */
const AT_WORK_MAX = 2;
/** Between two messages. */
const STILL_MS = 60_000;

/** `before`: the batch before this one is done. What a sender sends first stands first in the log. */
async function ingestedBatch(call: StreamCall, frame: Frame, before: Promise<unknown>): Promise<object> {
  const { exchange, method, form, parts, arrival } = call;
  const { gateway, bodies, telemetry } = parts;
  const { operation, binding } = method;
  const bytes = await unpacked(frame, encodingOf(exchange.request.headers), method.bytesMax);
  try {
    const sent = await sentMessage(method, form.codec, bytes, call.tenant, bodies);
    const { idempotencyKey, ...members } = sent.members as { idempotencyKey?: string };
    const { kind, body } = await passThrough(
      {
        ...arrival,
        // The stream has taken its permit; its credential is judged with every batch.
        entered: await enter(arrival, { ...gateway, rates: undefined }),
        operation,
        addressedTenant: undefined,
        idempotencyKey,
        async receive(sender) {
          const isKeyed = idempotencyKey !== undefined;
          const received = await receiveMessage(binding, { ...sent, members }, sender, isKeyed, bodies);
          await before;
          return received;
        },
      } satisfies Arrival,
      gateway,
    );
    return { answer: kind, batchResult: body as BatchResult };
  } catch (error) {
    const known = asAuditError(error, exchange, telemetry);
    if (REST_STATUS_OF_ERROR[known.code] === 401) throw known;
    return { error: shownError(known, exchange, gateway.clock.now()) };
  }
}
