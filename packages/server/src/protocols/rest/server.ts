// REST over HTTP: finds the operation that a request asks for, sends it through the gateway and writes the answer.
// Every answer, to whatever came in, has the standard headers; every error has the one body. There is no framework in
// between: it would read the body before anyone knows whether the caller may send one.

import type { IncomingMessage, ServerResponse } from 'node:http';
import { AuditError, type Version } from '@tallystick/contract';
import type { TlsFiles } from '../../config/tls-files.ts';
import { type CorrelationSource, RequestCorrelation } from '../../gateway/correlation.ts';
import { asAuditError } from '../../gateway/error-body.ts';
import { header } from '../../gateway/header-values.ts';
import { type Arrival, type Gateway, passThrough } from '../../gateway/pipeline.ts';
import { securityHeaders, type Surroundings } from '../../gateway/security-headers.ts';
import { readVersion, SUPPORTED_VERSIONS, versionHeaders } from '../../gateway/versions.ts';
import type { Telemetry } from '../../telemetry.ts';
import { rawReply, type Reply, replyTo, replyToError } from './answer.ts';
import type { BodyParts } from './body.ts';
import { BODIES_BYTES_MAX, BodyBudget } from './body-budget.ts';
import { ByteStream } from './byte-stream.ts';
import { type Coding, encode } from './coding.ts';
import { closeUnlessComplete, closeUnlessRead } from './connections.ts';
import { checkFraming, isFramed } from './framing.ts';
import { createHttpServer, type HttpServer } from './http-server.ts';
import { receive, VERSION_PARAMETER } from './input.ts';
import type { LargeBodyParser } from './large-body-parser.ts';
import { parseQuery, splitTarget } from './query.ts';
import { createRouter, type Router } from './router.ts';
import { routesFor } from './routes.ts';
import { createWriter } from './write.ts';

export interface RestOptions extends Surroundings {
  readonly gateway: Gateway;
  readonly ids: CorrelationSource;
  readonly telemetry: Telemetry;
  readonly tls: TlsFiles | undefined;
  readonly largeBodies: Pick<LargeBodyParser, 'parse'>;
}

/** What stands outside all versions is asked as the first. */
const ROOT_VERSION: Version = 'v1';

/** A request from its arrival to its answer. */
interface Exchange {
  readonly correlation: RequestCorrelation;
  readonly request: IncomingMessage;
  readonly path: string;
  readonly queryText: string;
  /** The version whose life cycle the answer tells about, once it is known. */
  version?: Version;
}

/** The HTTP server, ready to listen. */
export function createRestServer(options: RestOptions): HttpServer {
  const { gateway, ids, telemetry, tls } = options;
  const { clock } = gateway;
  const standing = { ...securityHeaders(options), 'api-supported-versions': SUPPORTED_VERSIONS };
  const write = createWriter(standing);
  const router = createRouter(routesFor(gateway.operations));
  const bodies: BodyParts = {
    clock,
    budget: new BodyBudget(BODIES_BYTES_MAX),
    parseElsewhere: (sender, message) => options.largeBodies.parse(sender, message),
  };

  const serve = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    const startedNs = clock.monotonicNs();
    const correlation = new RequestCorrelation(request.headers, ids);
    const exchange: Exchange = { correlation, request, ...splitTarget(request.url ?? '/') };
    const answer = await answerTo(exchange, router, bodies, options);
    const body = answer.coding === undefined ? answer.body : await encoded(answer, answer.coding);
    noteRequest(exchange, answer.status, startedNs, options);
    write(response, answer, body, {
      correlationId: correlation.correlationId,
      ofVersion: versionHeaders(exchange.version, gateway.versionStates),
      isLast: gateway.lifecycle.phase === 'Draining' || !isFramed(request),
    });
    if (!request.complete) closeUnlessComplete(request, response, clock);
    if (body instanceof ByteStream) await body.sendTo(response, clock);
    // Small answers are gone by now, into the buffers of the system.
    if (response.writableLength > 0 && !response.destroyed) closeUnlessRead(response, clock);
  };
  const serveOrCut = (request: IncomingMessage, response: ServerResponse): void => {
    serve(request, response).catch((error: unknown) => {
      telemetry.error('an answer could not be written', error, {
        path: splitTarget(request.url ?? '/').path,
      });
      response.destroy();
    });
  };
  const refuseRaw = (error: AuditError, target: string): string => {
    const place = { correlation: new RequestCorrelation({}, ids), path: splitTarget(target).path };
    const nowMs = clock.now();
    return rawReply(
      replyToError(error, place, nowMs),
      { ...standing, 'X-Correlation-Id': place.correlation.correlationId },
      nowMs,
    );
  };
  return createHttpServer(serveOrCut, { tls, refuseRaw, clock });
}

/** Never fails: what goes wrong becomes the answer. */
async function answerTo(
  exchange: Exchange,
  router: Router,
  bodies: BodyParts,
  { gateway, telemetry }: RestOptions,
): Promise<Reply> {
  try {
    return await routed(exchange, router, bodies, gateway);
  } catch (error) {
    return replyToError(asAuditError(error, exchange, telemetry), exchange, gateway.clock.now());
  }
}

async function routed(
  exchange: Exchange,
  router: Router,
  bodies: BodyParts,
  gateway: Gateway,
): Promise<Reply> {
  const { request, path } = exchange;
  const { method = '', headers } = request;
  checkFraming(request);
  const found = router(method, path);
  if (found === undefined) throw notFound(method, path);
  const { route, parameters } = found;
  const query = parseQuery(route.ignoresQuery ? '' : exchange.queryText);
  const version = route.atRoot
    ? ROOT_VERSION
    : readVersion(route.version, headers, query.get(VERSION_PARAMETER) ?? []);
  if (!route.atRoot) exchange.version = version;
  const reading = route.readings.get(version);
  if (reading === undefined) throw notFound(method, path);

  const input: Record<string, unknown> = {};
  const arrival: Arrival = {
    operation: reading.operation,
    version,
    headers,
    path,
    tenantInPath: parameters['tenantId'],
    correlation: exchange.correlation,
    receive: (sender) => receive(reading, { request, query, parameters, sender }, input, bodies),
  };
  const answer = await passThrough(arrival, gateway);
  return replyTo(answer, reading, version, input, {
    path,
    queryText: exchange.queryText,
    accept: headers.accept,
    ifNoneMatch: headers['if-none-match'],
    acceptEncoding: header(headers, 'accept-encoding'),
  });
}

function encoded({ body }: Reply, coding: Coding): Buffer | Promise<Buffer> {
  if (typeof body !== 'string') throw new Error('only texts are compressed');
  return encode(coding, body);
}

function notFound(method: string, path: string): AuditError {
  return new AuditError('ROUTE_NOT_FOUND', `There is no ${method} ${path.slice(0, 200)}.`);
}

function noteRequest(
  { correlation, path, request }: Exchange,
  status: number,
  startedNs: number,
  { gateway, telemetry }: RestOptions,
): void {
  if (!telemetry.writes('Debug')) return;
  const { requestId, traceId, correlationId } = correlation;
  const durationMs = Math.round((gateway.clock.monotonicNs() - startedNs) / 1e3) / 1e3;
  const facts = { method: request.method, path, status, durationMs, requestId, traceId, correlationId };
  telemetry.debug('request', facts);
}
