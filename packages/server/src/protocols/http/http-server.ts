// Node's HTTP server, set up so that we answer the requests that it would answer by itself – an unknown method, headers
// too large or too slow, an expectation, a request that is no HTTP – or nobody does.

import type { IncomingMessage, Server, ServerResponse } from 'node:http';
import { createServer as createTlsServer } from 'node:https';
import type { Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import { AuditError, LIMITS } from '@tallystick/contract';
import type { TlsFiles } from '../../config/tls-files.ts';
import type { Clock } from '../../runtime/clock.ts';
import { breakBody, expectContinue } from './body-bytes.ts';
import { Connections } from './connections.ts';
import { secureContextOf } from './tls.ts';
import { createServer } from '../../runtime/node-http.ts';

/** What to write on a connection whose request never became one; the target as far as it can be told. */
export type RefuseRaw = (error: AuditError, target: string) => string;

export type Serve = (request: IncomingMessage, response: ServerResponse) => void;

/** Node's server, and the connections that it does not show. */
export interface HttpServer extends Server {
  readonly open: Connections;
}

export interface HttpServerOptions {
  readonly tls: TlsFiles | undefined;
  readonly refuseRaw: RefuseRaw;
  readonly clock: Clock;
  readonly limits?: ConnectionLimits;
}

export interface ConnectionLimits {
  /** A client that neither sends nor reads for so long is gone, or hostile. */
  readonly stillMs: number;
  readonly connectionsMax: number;
}

/** The idle time is longer than the longest request may take, during which nothing passes. */
const CONNECTION_LIMITS: ConnectionLimits = { stillMs: 80_000, connectionsMax: 20_000 };

/** Above the idle time of common load balancers, so that they close first. */
const KEEP_ALIVE_MS = 72_000;

/** Pipelined requests of a connection are served one at a time; no more than so many may wait. */
const PIPELINED_MAX = 1000;

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

export function createHttpServer(serve: Serve, options: HttpServerOptions): HttpServer {
  const { tls, refuseRaw, clock, limits = CONNECTION_LIMITS } = options;
  const server: Server =
    tls === undefined
      ? createServer(OPTIONS)
      : createTlsServer({
          ...OPTIONS,
          handshakeTimeout: LIMITS.headersTimeoutMs,
          ...secureContextOf(tls),
        });
  const open = new Connections(server, clock);
  const serveSoon = afterTheTurn(serve);
  const serveAfter = (before: ServerResponse, request: IncomingMessage, response: ServerResponse) => {
    if (open.awaitTurn(request.socket) > PIPELINED_MAX) return request.socket.destroy();
    before.once('close', () => {
      open.takeTurn(request.socket);
      if (!request.destroyed) serveSoon(request, response);
    });
    return undefined;
  };
  const take = (request: IncomingMessage, response: ServerResponse) => {
    const before = open.lastAnswer(request.socket);
    // Perhaps the middle of another request: the connection ends with the answer before it.
    if (before?.req.headers.upgrade !== undefined) return;
    open.answer(request, response);
    if (before === undefined || before.writableFinished) serveSoon(request, response);
    else serveAfter(before, request, response);
  };
  server.on('request', take);
  // The size of the header block is the limit; a count would drop headers unseen.
  server.maxHeadersCount = 0;
  server.timeout = limits.stillMs;
  server.maxConnections = limits.connectionsMax;
  server.on('checkContinue', (request: IncomingMessage, response: ServerResponse) => {
    expectContinue(request, response);
    take(request, response);
  });
  // The framing check refuses what we cannot expect.
  server.on('checkExpectation', take);
  server.on('connect', (request: IncomingMessage, socket: Duplex) => {
    // Node has released the socket, so we must handle its errors.
    socket.on('error', () => {});
    open.refuse(
      socket,
      refuseRaw(new AuditError('ROUTE_NOT_FOUND', 'This server is not a proxy.'), request.url ?? '/'),
    );
  });
  server.on('clientError', (error: ClientError, socket: Socket) => {
    refuseConnection(error, socket, open, refuseRaw);
  });
  return Object.assign(server, { open });
}

/**
 * Serves what a turn of the event loop has brought when that turn is over: by then most bodies have come too and need
 * not be waited for, and the same work is done for many in a row.
 */
function afterTheTurn(serve: Serve): Serve {
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

function refuseConnection(error: ClientError, socket: Socket, open: Connections, refuseRaw: RefuseRaw): void {
  const isLate = error.code === 'ERR_HTTP_REQUEST_TIMEOUT';
  if (!socket.writable || error.code === 'ECONNRESET' || (open.isRefused(socket) && isLate)) {
    socket.destroy();
    return;
  }
  // After the first refusal we only wait for the other side to close: closing at once would take our answer back.
  if (open.isRefused(socket)) return;
  const response = open.lastAnswer(socket);
  if (response !== undefined && !response.writableFinished) {
    refuseDuringAnswer(response, socket);
    return;
  }
  // The rest of a body that nobody wanted; its request has been answered.
  if (response !== undefined && !response.req.complete) {
    socket.destroy();
    return;
  }
  const text = refuseRaw(understood(error), targetOf(error));
  open.refuse(socket, isHead(error) ? text.slice(0, text.indexOf(END_OF_HEAD) + END_OF_HEAD.length) : text);
}

/** A request is being answered. Either its own body is broken, or a request sent behind it is. */
function refuseDuringAnswer(response: ServerResponse, socket: Socket): void {
  if (!response.req.complete) breakBody(response.req);
  // It is closed afterwards anyway, and later bytes must not be recorded piece by piece.
  if (!response.shouldKeepAlive) return;
  response.shouldKeepAlive = false;
  response.once('finish', () => socket.destroySoon());
}

function understood(error: ClientError): AuditError {
  // The parser blames the method for any first byte that no method of its list has.
  if (error.code === 'HPE_INVALID_METHOD' && REQUEST_LINE.test(receivedText(error))) {
    return new AuditError('ROUTE_NOT_FOUND', 'There is no such method.');
  }
  switch (error.code) {
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

/** Any method, a target and a version; or a line that is cut off within its path. */
const REQUEST_LINE =
  /^(?:\r\n)*[!#$%&'*+.^_`|~0-9A-Za-z-]+ (?:[\x21-\x7e]+ HTTP\/1\.[01]\r\n|\/[\x21-\x7e]*$)/;

const END_OF_HEAD = '\r\n\r\n';

/** What was received may begin with the request line. */
function receivedText({ rawPacket }: ClientError): string {
  return rawPacket?.subarray(0, LIMITS.headerBlockBytesMax).toString('latin1') ?? '';
}

function isHead(error: ClientError): boolean {
  return receivedText(error).startsWith('HEAD ');
}

function targetOf(error: ClientError): string {
  return /^[A-Za-z]+ (\/[\x21-\x7e]*)/.exec(receivedText(error))?.[1] ?? '/';
}
