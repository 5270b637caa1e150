// A call from its head to its reply, the same over HTTP/2 and HTTP/1.1. The method is in the path, so the caller is known and
// may do what it asks before a byte of its message is read.

import { AuditError } from '@tallystick/contract';
import { grpcPackage } from '@tallystick/contract/grpc';
import { asAuditError, type ErrorPlace, shownError } from '../../gateway/shown-error.ts';
import { type Arrival, type Gateway, passThrough } from '../../gateway/pipeline.ts';
import type { Telemetry } from '../../telemetry.ts';
import type { LastingAnswers } from '../streaming/lasting-answers.ts';
import { readBytes } from '../http/body-bytes.ts';
import { errorHeaders } from '../http/error-headers.ts';
import type { Exchange } from '../http/mount.ts';
import { ratedSender } from '../http/rated-sender.ts';
import { callFacts } from '../http/request-headers.ts';
import { versionHeaders } from '../http/version-headers.ts';
import type { BodyParts } from '../input/json-body.ts';
import { receiveMessage } from '../input/message-input.ts';
import { answerMessage } from './answer-message.ts';
import { type ShownStatus, shownStatus } from './error-details.ts';
import { grpcStatusOf } from './error-status.ts';
import { type CallForm, encodingOf, formOf, PLAIN_FORM, timeoutMsOf } from './form.ts';
import { FRAME_HEAD_BYTES, onlyFrame, unpacked } from './frames.ts';
import { checkHealth, HEALTH_CHECK, HEALTH_WATCH, watchHealth } from './health.ts';
import { type Method, methodAt } from './methods.ts';
import { reflection, REFLECTIONS } from './reflection.ts';
import { type CallReply, messageReply, statusReply, unsupportedType } from './reply.ts';
import { queriedMessage } from './queried-message.ts';
import { JSON_BYTES_MAX, sentMessage } from './sent-message.ts';
import { waitOf } from './sender-waits.ts';
import { streamCall } from './stream-call.ts';

export interface CallParts {
  /** Of all protocols. */
  readonly lasting: LastingAnswers;
  /** Of those who need no credential, so that they take nothing from those who have one; by sender. */
  readonly strangers: LastingAnswers;
  readonly gateway: Gateway;
  readonly bodies: BodyParts;
  readonly telemetry: Telemetry;
}

/** Never fails: what goes wrong is told in the form of the call. */
export async function answerCall(exchange: Exchange, parts: CallParts): Promise<CallReply> {
  const { clock } = parts.gateway;
  const form = callForm(exchange);
  if (form === undefined) {
    const error = new AuditError(
      'UNSUPPORTED_MEDIA_TYPE',
      'The content type is none of gRPC, gRPC-Web or Connect.',
    );
    return unsupportedType(shown(error, exchange, parts));
  }
  try {
    using wait = waitOf(exchange, timeoutMsOf(exchange.request.headers), clock);
    try {
      return await unary(exchange, form, wait.gone, parts);
    } catch (error) {
      return refused(error, exchange, form, parts, wait.isLate());
    }
  } catch (error) {
    return refused(error, exchange, form, parts);
  }
}

export function refused(
  error: unknown,
  exchange: Exchange,
  form: CallForm,
  parts: CallParts,
  isLate = false,
): CallReply {
  const known = asAuditError(error, exchange, parts.telemetry);
  return statusReply(form, shown(known, exchange, parts, isLate), errorHeaders(known));
}

export function shown(
  error: AuditError,
  place: ErrorPlace,
  { gateway }: Pick<CallParts, 'gateway'>,
  isLate = false,
): ShownStatus {
  const waitSeconds = errorHeaders(error)['Retry-After'];
  return shownStatus(shownError(error, place, gateway.clock.now()), {
    status: grpcStatusOf(error.code, isLate),
    version: place.path.startsWith(`/${grpcPackage('v2')}.`) ? 'v2' : 'v1',
    correlationId: place.correlation.correlationId,
    retryAfterSeconds: waitSeconds === undefined ? undefined : Number(waitSeconds),
  });
}

/** A GET has no content type: it is a call of Connect, of a method that only reads. */
function callForm({ request }: Exchange): CallForm | undefined {
  return request.method === 'GET' ? PLAIN_FORM : formOf(request.headers);
}

async function unary(
  exchange: Exchange,
  form: CallForm,
  gone: AbortSignal,
  parts: CallParts,
): Promise<CallReply> {
  const { request, path } = exchange;
  const { gateway } = parts;
  if (path === HEALTH_CHECK) return checkHealth(exchange, form, gone, parts);
  if (path === HEALTH_WATCH) return watchHealth(exchange, form, parts);
  if (REFLECTIONS.has(path)) return reflection(exchange, form, parts);
  const method = methodAt(path);
  if (method === undefined) throw notFound(path);
  if (request.method !== 'POST' && !(request.method === 'GET' && method.isSafe))
    throw new AuditError('ROUTE_NOT_FOUND', `${path} is called by POST.`);
  const { operation, version, streams } = method;
  if (form.protocol === (streams === undefined ? 'ConnectStream' : 'Connect'))
    throw new AuditError('ROUTE_NOT_FOUND', `${path} is called by another content type.`);
  exchange.addedHeaders = { ...exchange.addedHeaders, ...versionHeaders(version, gateway.versionStates) };
  exchange.served = { operation: operation.name, route: path };
  if (streams !== undefined) {
    if (streams.client && request.httpVersionMajor < 2)
      throw new AuditError('ROUTE_NOT_FOUND', `${path} needs HTTP/2.`);
    return streamCall(exchange, method, form, parts, gone);
  }
  const queried = request.method === 'GET' ? queriedMessage(exchange.queryText) : undefined;
  const { codec } = queried ?? form;
  const answer = await passThrough(
    {
      ...callFacts(exchange),
      operation,
      version,
      addressedTenant: undefined,
      correlation: exchange.correlation,
      sender: ratedSender(exchange, gateway.clock),
      path,
      gone,
      receive: async (sender, onSent) => {
        const bytes =
          queried?.bytes ?? (await readMessage(exchange, method, form, { sender, onSent }, parts));
        const isKeyed = operation.idempotency === 'Key' && request.headers['idempotency-key'] !== undefined;
        const sent = await sentMessage(method, codec, bytes, sender, parts.bodies);
        return receiveMessage(method.binding, sent, sender, isKeyed, parts.bodies);
      },
    } satisfies Arrival,
    gateway,
  );
  const message = await answerMessage(method, answer, codec, gateway.clock);
  return messageReply(queried === undefined ? form : { ...form, contentType: queried.contentType }, message, {
    'Tallystick-Answer': answer.kind,
  });
}

export function notFound(path: string): AuditError {
  return new AuditError('ROUTE_NOT_FOUND', `There is no method ${path.slice(0, 200)}.`);
}

interface Sending {
  readonly sender: string;
  readonly onSent: (spanNs: number) => void;
}

export async function readMessage(
  { request }: Exchange,
  { bytesMax, timeoutMs }: Pick<Method, 'bytesMax' | 'timeoutMs'>,
  form: CallForm,
  sending: Sending,
  { bodies }: CallParts,
): Promise<Uint8Array> {
  const max = form.codec === 'Json' ? Math.min(bytesMax, JSON_BYTES_MAX) : bytesMax;
  const isFramed = form.protocol !== 'Connect';
  const framedMax = max + (isFramed ? FRAME_HEAD_BYTES : 0);
  const sentMax = form.isText ? Math.ceil(framedMax / 3) * 4 : framedMax;
  const sent = await readBytes({ request, ...sending }, { bytesMax: sentMax, timeoutMs }, bodies);
  if (!isFramed) return sent;
  const bytes = form.isText ? Buffer.from(Buffer.from(sent).toString('latin1'), 'base64') : sent;
  return unpacked(onlyFrame(bytes), encodingOf(request.headers), max);
}
