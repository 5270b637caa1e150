// The listener of gRPC: HTTP/2 on a port of its own, over TLS where the service has a certificate, else with prior knowledge.
// docs/decisions/0027 says what any further listener owes: bounds on connections and calls, time limits in both directions,
// and that nobody is cut off at a stop.

import type { IncomingMessage } from 'node:http';
import {
  constants,
  createSecureServer,
  createServer,
  type Http2ServerRequest,
  type Http2ServerResponse,
  type ServerHttp2Session,
  type ServerHttp2Stream,
} from 'node:http2';
import type { Server } from 'node:net';
import { LIMITS } from '@tallystick/contract';
import type { TlsFiles } from '../../../config/tls-files.ts';
import type { Clock } from '../../../runtime/clock.ts';
import type { Span } from '../../../telemetry/tracing.ts';
import { ByteStream } from '../../http/byte-stream.ts';
import { closeUnlessRead } from '../../http/connections.ts';
import { begin, type ListenerOptions, noteRequest } from '../../http/listener.ts';
import { secureContextOf } from '../../http/tls.ts';
import { noteAnswer, requestSpan } from '../../http/traced-request.ts';
import { answerCall, type CallParts } from '../call.ts';
import type { CallReply } from '../reply.ts';
import { CONNECTIONS_MAX, SESSION_LIMITS, SESSION_WINDOW_BYTES, STILL_MS } from './limits.ts';

export interface GrpcListenerOptions extends Omit<ListenerOptions, 'mounts' | 'cors' | 'isDraining'> {
  readonly calls: CallParts;
}

export interface GrpcListener {
  readonly server: Server;
  /** Those that are open, with the number of their calls. */
  readonly sessions: ReadonlyMap<ServerHttp2Session, number>;
}

export function createGrpcListener(options: GrpcListenerOptions): GrpcListener {
  const { tls, telemetry } = options;
  const sessions = new Map<ServerHttp2Session, number>();
  const server = serverWith(tls, (request, response) => {
    // Do no work for a client that resets its calls as fast as it opens them.
    if (response.stream.closed || response.stream.destroyed) return;
    serveTraced(asIncoming(request), response, options).catch((error: unknown) => {
      telemetry.error('an answer over gRPC could not be written', error, { path: request.url });
      response.stream.close(constants.NGHTTP2_INTERNAL_ERROR);
    });
  });
  server.maxConnections = CONNECTIONS_MAX;
  server.on('session', (session: ServerHttp2Session) => watchSession(session, sessions));
  // A call may last without a word; a connection without one may not.
  Object.assign(server, { timeout: STILL_MS });
  server.on('timeout', (session: ServerHttp2Session) => {
    if (sessions.get(session) === 0) session.close();
  });
  return { server, sessions };
}

type Serve = (request: Http2ServerRequest, response: Http2ServerResponse) => void;

function serverWith(tls: TlsFiles | undefined, serve: Serve) {
  if (tls === undefined) return createServer(SESSION_LIMITS, serve);
  const secure = { ...secureContextOf(tls), handshakeTimeout: LIMITS.headersTimeoutMs };
  return createSecureServer({ ...SESSION_LIMITS, ...secure, allowHTTP1: false }, serve);
}

/** Node's request of HTTP/2 has what we use of one of HTTP/1.1: headers by lower-case names, a readable body, its connection. */
const asIncoming = (request: Http2ServerRequest): IncomingMessage => request as unknown as IncomingMessage;

function watchSession(session: ServerHttp2Session, sessions: Map<ServerHttp2Session, number>): void {
  sessions.set(session, 0);
  const count = (change: number) => sessions.set(session, (sessions.get(session) ?? 0) + change);
  session.setLocalWindowSize(SESSION_WINDOW_BYTES);
  session.on('stream', (stream: ServerHttp2Stream) => {
    count(1);
    // A call that is reset or broken off is over; who answers it sees that by itself.
    stream.on('error', () => {});
    stream.once('close', () => void (sessions.has(session) && count(-1)));
  });
  session.on('error', () => session.destroy());
  session.once('close', () => sessions.delete(session));
}

async function serveTraced(
  request: IncomingMessage,
  response: Http2ServerResponse,
  options: GrpcListenerOptions,
): Promise<void> {
  const { tracing, tls } = options;
  if (tracing === undefined) return serve(request, response, options);
  return tracing.during(requestSpan(request, tls !== undefined), (span) =>
    serve(request, response, options, span),
  );
}

async function serve(
  request: IncomingMessage,
  response: Http2ServerResponse,
  options: GrpcListenerOptions,
  span?: Span,
): Promise<void> {
  const { clock, calls } = options;
  const { stream } = response;
  const startedNs = clock.monotonicNs();
  const exchange = begin(request, { ...options, cors: undefined }, span);
  const reply = await answerCall(exchange, calls);
  noteRequest(exchange, reply.status, startedNs, options);
  if (span !== undefined) noteAnswer(span, exchange, reply.status);
  if (stream.destroyed || stream.closed) return;
  const { correlationId } = exchange.correlation;
  write(response, reply, { ...exchange.addedHeaders, 'X-Correlation-Id': correlationId, ...reply.headers });
  if (reply.body instanceof ByteStream) await reply.body.sendTo(stream, clock);
  if (!request.complete) giveUp(request, stream, clock);
  else if (stream.writableLength > 0 && !stream.destroyed) closeUnlessRead(stream, clock);
}

/** What is left of a message that nobody wants may go by, so that the answer is read; not for long. */
function giveUp(request: IncomingMessage, stream: ServerHttp2Stream, clock: Clock): void {
  request.resume();
  const timer = clock.after(LINGER_MS, () => stream.close(constants.NGHTTP2_NO_ERROR));
  stream.once('close', () => timer.cancel());
}

const LINGER_MS = 2000;

function write(
  response: Http2ServerResponse,
  reply: CallReply,
  headers: Readonly<Record<string, string>>,
): void {
  const { body, trailers, status } = reply;
  const { stream } = response;
  stream.respond(
    { ':status': status, ...headers },
    { endStream: body === undefined, waitForTrailers: trailers !== undefined },
  );
  // Node sends those of the response in its own listener, which comes after this one.
  if (trailers !== undefined)
    stream.prependOnceListener('wantTrailers', () => response.addTrailers(trailers()));
  if (body !== undefined && !(body instanceof ByteStream)) stream.end(body);
}
