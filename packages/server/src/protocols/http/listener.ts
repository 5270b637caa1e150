// The HTTP listener: hands each request to the mount that serves its path, and writes the reply. Every reply has the standing
// headers of its mount; even bytes that are no HTTP are refused in the mount's form. There is no framework in between: it would
// read the body before the caller is known.

import type { IncomingMessage, ServerResponse } from 'node:http';
import type { AuditError } from '@tallystick/contract';
import type { TlsFiles } from '../../config/tls-files.ts';
import { type CorrelationSource, RequestCorrelation } from '../../gateway/correlation.ts';
import { asAuditError } from '../../gateway/shown-error.ts';
import type { Clock } from '../../runtime/clock.ts';
import type { Telemetry } from '../../telemetry.ts';
import { type Span, traceparentOf, type Tracing } from '../../telemetry/tracing.ts';
import { ByteStream } from './byte-stream.ts';
import { type Coding, encode } from './coding.ts';
import type { Cors } from './cors.ts';
import { closeUnlessComplete, closeUnlessRead } from './connections.ts';
import { checkFraming, isFramed } from './framing.ts';
import { createHttpServer, type HttpServer } from './http-server.ts';
import { type AnswerHeaders, type Exchange, type Mount, mountsByPath, type Reply } from './mount.ts';
import { header } from './request-headers.ts';
import type { Senders } from './senders.ts';
import { splitTarget } from './target.ts';
import { isProbe, noteAnswer, requestSpan } from './traced-request.ts';
import { createWriter, rawAnswer } from './write.ts';

export interface ListenerOptions {
  readonly mounts: readonly Mount[];
  readonly ids: CorrelationSource;
  readonly clock: Clock;
  readonly senders: Senders;
  /** Undefined: no other origin may ask. */
  readonly cors: Cors | undefined;
  readonly telemetry: Telemetry;
  /** Undefined: requests are not traced. */
  readonly tracing: Tracing | undefined;
  readonly tls: TlsFiles | undefined;
  /** True while the service stops: each connection is closed after its reply. */
  readonly isDraining: () => boolean;
}

const NO_HEADERS: AnswerHeaders = {};

/** The HTTP server, ready to listen. */
export function createListener(options: ListenerOptions): HttpServer {
  const { ids, clock, telemetry, tracing, tls, isDraining } = options;
  const mountAt = mountsByPath(
    options.mounts.map((mount) => ({
      mount,
      prefix: mount.prefix,
      write: createWriter(mount.standingHeaders),
    })),
  );

  const serve = async (request: IncomingMessage, response: ServerResponse, span?: Span): Promise<void> => {
    const startedNs = clock.monotonicNs();
    const exchange = begin(request, options, span);
    const { mount, write } = mountAt(exchange.path);
    const answer = options.cors?.preflight(request) ?? (await answerTo(exchange, mount, telemetry));
    const body = answer.coding === undefined ? answer.body : await encoded(answer, answer.coding);
    noteRequest(exchange, answer.status, startedNs, options);
    if (span !== undefined) noteAnswer(span, exchange, answer.status);
    write(response, answer, body, {
      correlationId: exchange.correlation.correlationId,
      addedHeaders: exchange.addedHeaders,
      isLast: isDraining() || !isFramed(request),
    });
    if (!request.complete) closeUnlessComplete(request, response, clock);
    if (body instanceof ByteStream) await body.sendTo(response, clock);
    // Small answers are gone by now, into the buffers of the system.
    if (response.writableLength > 0 && !response.destroyed) closeUnlessRead(response, clock);
  };
  const serveTraced = (request: IncomingMessage, response: ServerResponse): Promise<void> =>
    tracing === undefined || isProbe(request)
      ? serve(request, response)
      : tracing.during(requestSpan(request, tls !== undefined), (span) => serve(request, response, span));
  const serveOrCut = (request: IncomingMessage, response: ServerResponse): void => {
    serveTraced(request, response).catch((error: unknown) => {
      telemetry.error('an answer could not be written', error, {
        path: splitTarget(request.url ?? '/').path,
      });
      response.destroy();
    });
  };
  const refuseRaw = (error: AuditError, target: string): string => {
    const { path } = splitTarget(target);
    const { mount } = mountAt(path);
    const correlation = new RequestCorrelation(undefined, undefined, ids);
    const reply = mount.refuse(error, { correlation, path });
    return rawAnswer(reply, mount.standingHeaders, correlation.correlationId, clock.now());
  };
  return createHttpServer(serveOrCut, { tls, refuseRaw, clock });
}

/** A request from its head on. */
export function begin(
  request: IncomingMessage,
  { ids, senders, cors }: Pick<ListenerOptions, 'ids' | 'senders' | 'cors'>,
  span: Span | undefined,
): Exchange {
  const { headers, url = '/' } = request;
  const { path, queryText } = splitTarget(url);
  const correlationId = header(headers, 'x-correlation-id');
  // Answers and diagnostics name the trace that the span belongs to.
  const traceparent = span === undefined ? header(headers, 'traceparent') : traceparentOf(span.ref);
  const correlation = new RequestCorrelation(correlationId, traceparent, ids);
  return {
    request,
    correlation,
    partition: () => senders.partitionOf(request),
    address: () => senders.addressOf(request),
    path,
    queryText,
    addedHeaders: cors?.headersFor(request) ?? NO_HEADERS,
    served: undefined,
  };
}

/** Never fails: what goes wrong becomes the answer. */
async function answerTo(exchange: Exchange, mount: Mount, telemetry: Telemetry): Promise<Reply> {
  try {
    checkFraming(exchange.request);
    return await mount.handle(exchange);
  } catch (error) {
    return mount.refuse(asAuditError(error, exchange, telemetry), exchange);
  }
}

function encoded({ body }: Reply, coding: Coding): Buffer | Promise<Buffer> {
  if (typeof body !== 'string') throw new Error('only texts are compressed');
  return encode(coding, body);
}

export function noteRequest(
  { correlation, path, request }: Exchange,
  status: number,
  startedNs: number,
  { clock, telemetry }: Pick<ListenerOptions, 'clock' | 'telemetry'>,
): void {
  if (!telemetry.writes('Debug')) return;
  const { requestId, traceId, correlationId } = correlation;
  const durationMs = Math.round((clock.monotonicNs() - startedNs) / 1e3) / 1e3;
  const facts = { method: request.method, path, status, durationMs, requestId, traceId, correlationId };
  telemetry.debug('request', facts);
}
