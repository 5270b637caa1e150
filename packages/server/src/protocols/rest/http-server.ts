// Node's HTTP server, set up so that whatever it would answer by itself – an unknown method, headers too large or
// too slow, an expectation, a request that is no HTTP – is answered by us instead, or not at all.

import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import { createServer as createTlsServer } from 'node:https';
import type { Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import { AuditError, LIMITS } from '@tallystick/contract';
import type { TlsFiles } from '../../config/tls-files.ts';
import { breakBody } from './body.ts';

/** What to write on a connection whose request never became one; the target as far as it can be told. */
export type RefuseRaw = (error: AuditError, target: string) => string;

type Serve = (request: IncomingMessage, response: ServerResponse) => void;

/** Above the idle time of common load balancers, so that they close first. */
const KEEP_ALIVE_MS = 72_000;

/** Longer than the longest request may take, during which nothing passes. */
const STILL_MS_MAX = 80_000;
const CONNECTIONS_MAX = 20_000;

const OPTIONS = {
  maxHeaderSize: LIMITS.headerBlockBytesMax,
  headersTimeout: LIMITS.headersTimeoutMs,
  // The longest that any operation allows; shorter ones keep their own time while they read.
  requestTimeout: LIMITS.batchRequestTimeoutMs,
  keepAliveTimeout: KEEP_ALIVE_MS,
  connectionsCheckingInterval: 1000,
  // Node would keep the first of two Host or Authorization headers and drop the other unseen.
  joinDuplicateHeaders: true,
  requireHostHeader: false,
} as const;

export function createHttpServer(serve: Serve, tls: TlsFiles | undefined, refuseRaw: RefuseRaw): Server {
  const refused = new WeakSet<Duplex>();
  const serveSoon = createTurns(serve);
  const take = (request: IncomingMessage, response: ServerResponse) => {
    answering(request.socket)[ANSWER] = response;
    serveSoon(request, response);
  };
  const server: Server =
    tls === undefined
      ? createServer(OPTIONS, take)
      : createTlsServer({ ...OPTIONS, cert: tls.certificate, key: tls.key }, take);
  // The size of the header block is the limit; a count would drop headers unseen.
  server.maxHeadersCount = 0;
  // Whoever neither sends nor reads for so long is gone, or means harm.
  server.timeout = STILL_MS_MAX;
  server.maxConnections = CONNECTIONS_MAX;
  // The framing check refuses what we cannot expect.
  server.on('checkExpectation', (request: IncomingMessage, response: ServerResponse) =>
    server.emit('request', request, response),
  );
  server.on('connect', (request: IncomingMessage, socket: Duplex) => {
    // Node has let go of the socket: an error on it is nobody's but ours.
    socket.on('error', () => {});
    socket.end(refuseRaw(new AuditError('ROUTE_NOT_FOUND', 'This is no proxy.'), request.url ?? '/'));
  });
  server.on('clientError', (error: ClientError, socket: Socket) => {
    refuseConnection(error, socket, refused, refuseRaw);
  });
  return server;
}

/**
 * Serves what a turn of the event loop has brought when that turn is over: by then most bodies have come too and need
 * not be waited for, and the same work is done for many in a row.
 */
function createTurns(serve: Serve): Serve {
  let arrived: [IncomingMessage, ServerResponse][] = [];
  const serveAll = () => {
    const all = arrived;
    arrived = [];
    for (const [request, response] of all) serve(request, response);
  };
  return (request, response) => {
    if (arrived.push([request, response]) === 1) setImmediate(serveAll);
  };
}

interface ClientError extends Error {
  readonly code?: string;
  readonly rawPacket?: Buffer;
}

/** The answer that is being given on a connection, or was given last; kept on it, since a map of all is slower. */
const ANSWER = Symbol('answer');

function answering(socket: Socket): Socket & { [ANSWER]?: ServerResponse } {
  return socket;
}

function refuseConnection(
  error: ClientError,
  socket: Socket,
  refused: WeakSet<Duplex>,
  refuseRaw: RefuseRaw,
): void {
  const isLate = error.code === 'ERR_HTTP_REQUEST_TIMEOUT';
  if (!socket.writable || error.code === 'ECONNRESET' || (refused.has(socket) && isLate)) {
    socket.destroy();
    return;
  }
  // After the first refusal we only wait for the other side to close: closing at once would take our answer back.
  if (refused.has(socket)) return;
  const response = answering(socket)[ANSWER];
  if (response !== undefined && !response.writableFinished) {
    refuseDuringAnswer(response, socket);
    return;
  }
  // The rest of a body that nobody wanted; its request has been answered.
  if (response !== undefined && !response.req.complete) {
    socket.destroy();
    return;
  }
  refused.add(socket);
  socket.end(refuseRaw(understood(error), targetOf(error)));
}

/** A request is being answered. Either its own body is broken, or a request sent behind it is. */
function refuseDuringAnswer(response: ServerResponse, socket: Socket): void {
  response.shouldKeepAlive = false;
  response.once('finish', () => socket.destroySoon());
  if (!response.req.complete) breakBody(response.req);
}

function understood({ code }: ClientError): AuditError {
  switch (code) {
    case 'HPE_INVALID_METHOD':
      return new AuditError('ROUTE_NOT_FOUND', 'There is no such method.');
    case 'HPE_HEADER_OVERFLOW':
      return new AuditError(
        'INVALID_HEADER',
        `The headers are over the limit of ${LIMITS.headerBlockBytesMax} bytes.`,
      );
    case 'ERR_HTTP_REQUEST_TIMEOUT':
      return new AuditError('INVALID_HEADER', 'The headers did not arrive in time.');
    case undefined:
    default:
      return new AuditError('INVALID_HEADER', 'The request is not HTTP/1.1.');
  }
}

/** What was received may begin with the request line. */
function targetOf({ rawPacket }: ClientError): string {
  const line = rawPacket?.subarray(0, LIMITS.headerBlockBytesMax).toString('latin1') ?? '';
  return /^[A-Za-z]+ (\/[\x21-\x7e]*)/.exec(line)?.[1] ?? '/';
}
