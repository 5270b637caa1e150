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
import { TAIL } from '@tallystick/contract/grpc';
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
import { openTail } from '../streaming/tail.ts';
import { tailAsk, type TailArrival } from '../streaming/tail-ask.ts';
import { type CallParts, readMessage, shown } from './call.ts';
import { type CallForm, encodingOf, timeoutMsOf } from './form.ts';
import { sentFrames } from './sent-frames.ts';
import { unpacked } from './frames.ts';
import type { Method } from './methods.ts';
import { type CallReply, streamReply } from './reply.ts';
import { sentMessage } from './sent-message.ts';
import { type Wait, waitOf } from './sender-waits.ts';

interface StreamCall {
  readonly exchange: Exchange;
  readonly method: Method;
  readonly form: CallForm;
  readonly parts: CallParts;
  readonly arrival: TailArrival;
  readonly tenant: TenantId;
  readonly lasting: LastingAnswer;
  readonly wait: Wait;
}

/** Rejects before anything was answered; what goes wrong later ends the stream with its status. */
export async function streamCall(
  exchange: Exchange,
  method: Method,
  form: CallForm,
  parts: CallParts,
): Promise<CallReply> {
  const { gateway, telemetry } = parts;
  const wait = waitOf(exchange, timeoutMsOf(exchange.request.headers), gateway.clock);
  const { version } = method;
  const sender = ratedSender(exchange, gateway.clock);
  const { correlation, path } = exchange;
  const arrival = { ...callFacts(exchange), version, correlation, sender, path, gone: wait.gone };
  try {
    const { tenant } = await enter(arrival, gateway);
    if (tenant === undefined) throw new AuditError('MISSING_TENANT', ERRORS.MISSING_TENANT.meaning);
    const lasting = parts.lasting.begin(tenant);
    wait.gone.addEventListener('abort', () => lasting.leave());
    const call = { exchange, method, form, parts, arrival, tenant, lasting, wait };
    const values = method.method === TAIL ? await tailed(call) : ingested(call);
    const failed = (error: unknown) =>
      shown(asAuditError(error, exchange, telemetry), exchange, parts, wait.isLate());
    return streamReply(form, messagesOf(call, values), failed);
  } catch (error) {
    wait[Symbol.dispose]();
    throw error;
  }
}

async function* messagesOf(
  { method: { response }, form, lasting, wait }: StreamCall,
  values: AsyncIterable<object>,
): AsyncGenerator<Uint8Array> {
  try {
    for await (const value of values) {
      yield form.codec === 'Proto'
        ? encodeMessage(response, value)
        : Buffer.from(writeJson(toProtoJson(response, value)));
    }
    if (lasting.signal.reason === 'Draining')
      throw new AuditError('SERVICE_UNAVAILABLE', 'The service is stopping; go on where this stream ends.');
    if (wait.isLate()) throw new AuditError('SERVICE_UNAVAILABLE', 'The time of the call is over.');
  } finally {
    wait[Symbol.dispose]();
    lasting[Symbol.dispose]();
  }
}

async function tailed(call: StreamCall): Promise<AsyncIterable<object>> {
  const { method, form, parts, tenant, lasting, arrival } = call;
  const { gateway } = parts;
  try {
    const bytes = await readMessage(call.exchange, method, form, { sender: tenant, onSent: () => {} }, parts);
    const { fromSequence } = sentMessage(method, form.codec, bytes).members as { fromSequence?: number };
    if (fromSequence !== undefined && !(Number.isSafeInteger(fromSequence) && fromSequence >= 1)) {
      const [field, issue] = ['fromSequence', 'must be a whole number from 1'];
      const details = [{ field, issue, value: fromSequence }];
      throw new AuditError('VALIDATION_FAILED', `${field} ${issue}.`, { details });
    }
    const { growth, clock } = gateway;
    const ask = tailAsk(arrival, gateway);
    return shownEntries(await openTail(fromSequence, { ask, tenant, growth, clock, lasting }));
  } catch (error) {
    lasting[Symbol.dispose]();
    throw error;
  }
}

async function* shownEntries(entries: AsyncIterable<object>): AsyncGenerator<object> {
  for await (const streamEvent of entries) yield { streamEvent };
}

/** One batch after the other: while one is stored no more is read than fits into the window, which holds the sender. */
async function* ingested(call: StreamCall): AsyncGenerator<object> {
  const { exchange, method, tenant, lasting, parts } = call;
  const { request } = exchange;
  const limits = { bytesMax: method.bytesMax, stillMs: STILL_MS, stop: lasting.signal };
  let index = 0;
  for await (const frame of sentFrames(request, tenant, limits, parts.bodies)) {
    const bytes = await unpacked(frame, encodingOf(request.headers), method.bytesMax);
    yield { index, ...(await ingestedBatch(call, bytes)) };
    index += 1;
    if (lasting.signal.aborted) return;
  }
}

/** Between two messages. */
const STILL_MS = 60_000;

async function ingestedBatch(call: StreamCall, bytes: Uint8Array): Promise<object> {
  const { exchange, method, form, parts, arrival } = call;
  const { gateway, bodies, telemetry } = parts;
  const { operation, binding } = method;
  try {
    const sent = sentMessage(method, form.codec, bytes);
    const { idempotencyKey, ...members } = sent.members as { idempotencyKey?: string };
    const { kind, body } = await passThrough(
      {
        ...arrival,
        // The stream has taken its permit; its credential is judged with every batch.
        entered: await enter(arrival, { ...gateway, rates: undefined }),
        operation,
        addressedTenant: undefined,
        idempotencyKey,
        receive: (sender) =>
          receiveMessage(binding, { ...sent, members }, sender, idempotencyKey !== undefined, bodies),
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
