// REST over HTTP: finds the operation that a request asks for, sends it through the gateway and writes the answer.
// Every answer, to whatever came in, has the standard headers; every error has the one body. Fastify routes and
// writes; requests are served from its first hook, because it would otherwise read the body before anyone knows
// whether the caller may send one.

import type { IncomingMessage, RequestListener, Server } from 'node:http';
import { AuditError, LIMITS, type Version } from '@tallystick/contract';
import { fastify, type FastifyReply, type FastifyRequest } from 'fastify';
import type { Correlation } from '../../call.ts';
import type { TlsFiles } from '../../config/tls-files.ts';
import { type CorrelationSource, readCorrelation } from '../../gateway/correlation.ts';
import { asAuditError } from '../../gateway/error-body.ts';
import { header } from '../../gateway/header-values.ts';
import { type Arrival, type Gateway, passThrough } from '../../gateway/pipeline.ts';
import { securityHeaders, type Surroundings } from '../../gateway/security-headers.ts';
import { readVersion, SUPPORTED_VERSIONS, versionHeaders } from '../../gateway/versions.ts';
import type { Telemetry } from '../../telemetry.ts';
import { rawReply, type Reply, replyTo, replyToError } from './answer.ts';
import { encode } from './coding.ts';
import { checkFraming, isFramed } from './framing.ts';
import { createHttpServer } from './http-server.ts';
import { receive, VERSION_PARAMETER } from './input.ts';
import { parseQuery, splitTarget } from './query.ts';
import { type Route, routesFor } from './routes.ts';
import { createWriter } from './write.ts';

export interface RestOptions extends Surroundings {
  readonly gateway: Gateway;
  readonly ids: CorrelationSource;
  readonly telemetry: Telemetry;
  readonly tls: TlsFiles | undefined;
}

/** What stands outside all versions is asked as the first. */
const ROOT_VERSION: Version = 'v1';

declare module 'fastify' {
  interface FastifyContextConfig {
    route?: Route;
  }
}

/** A request from its arrival to its answer. */
interface Exchange {
  correlation: Correlation;
  readonly request: IncomingMessage;
  readonly path: string;
  readonly queryText: string;
  /** The version whose life cycle the answer tells about, once it is known. */
  version?: Version;
}

/** The HTTP server, routed and ready to listen. */
export async function createRestServer(options: RestOptions): Promise<Server> {
  const { gateway, ids, telemetry } = options;
  const standing = { ...securityHeaders(options), 'api-supported-versions': SUPPORTED_VERSIONS };
  const write = createWriter(standing);

  const serve = async (request: FastifyRequest, reply: FastifyReply): Promise<FastifyReply> => {
    const startedNs = gateway.clock.monotonicNs();
    const correlation = readCorrelation(request.raw.headers, ids);
    const exchange: Exchange = { correlation, request: request.raw, ...splitTarget(request.url) };
    const answer = await answerTo(request, exchange, options);
    const body = answer.coding === undefined ? answer.body : await encode(answer.coding, answer.body ?? '');
    noteRequest(exchange, answer.status, gateway.clock.monotonicNs() - startedNs, telemetry);
    const isLast = gateway.lifecycle.phase === 'Draining' || !isFramed(request.raw);
    // From here on the answer is ours to write: the router would go through all headers once more.
    reply.hijack();
    write(reply.raw, answer, body, {
      correlationId: exchange.correlation.correlationId,
      ofVersion: versionHeaders(exchange.version, gateway.versionStates),
      isLast,
    });
    return reply;
  };
  const refuseRaw = (error: AuditError, target: string): string => {
    const place = { ...readCorrelation({}, ids), path: splitTarget(target).path };
    const nowMs = gateway.clock.now();
    return rawReply(
      replyToError(error, place, nowMs),
      { ...standing, 'X-Correlation-Id': place.correlationId },
      nowMs,
    );
  };

  const router = fastify({
    serverFactory: (listener: RequestListener) => createHttpServer(listener, options.tls, refuseRaw),
    // The server that we made listens for itself.
    clientErrorHandler: () => {},
    exposeHeadRoutes: false,
    return503OnClosing: false,
    // A target may name the whole URL; whose it is was decided by the connection.
    rewriteUrl: ({ url = '/' }) => url.replace(/^https?:\/\/[^/?#]*/i, '') || '/',
    routerOptions: { maxParamLength: LIMITS.headerBlockBytesMax, querystringParser: () => ({}) },
    // A target that cannot be decoded is no route.
    frameworkErrors: (_, request, reply) => void serve(request, reply),
  });
  router.addHook('onRequest', serve);
  for (const route of routesFor(gateway.operations)) {
    router.route({ method: route.method, url: route.url, config: { route }, handler: unreachable });
  }
  await router.ready();
  return router.server;
}

/** Never fails: what goes wrong becomes the answer. */
async function answerTo(request: FastifyRequest, exchange: Exchange, options: RestOptions): Promise<Reply> {
  const { gateway, telemetry } = options;
  try {
    return await routed(request, exchange, gateway);
  } catch (error) {
    const place = { ...exchange.correlation, path: exchange.path };
    return replyToError(asAuditError(error, place, telemetry), place, gateway.clock.now());
  }
}

async function routed(
  { raw, params, routeOptions, method }: FastifyRequest,
  exchange: Exchange,
  gateway: Gateway,
) {
  checkFraming(raw);
  const { route } = routeOptions.config;
  if (route === undefined) throw notFound(method, exchange.path);
  const query = parseQuery(exchange.queryText);
  const version = route.atRoot
    ? ROOT_VERSION
    : readVersion(route.version, raw.headers, query.get(VERSION_PARAMETER) ?? []);
  if (!route.atRoot) exchange.version = version;
  const reading = route.readings.get(version);
  if (reading === undefined) throw notFound(method, exchange.path);

  const { operation } = reading;
  const parameters = params as Readonly<Record<string, string | undefined>>;
  let input: object = {};
  const arrival: Arrival = {
    operation,
    version,
    headers: raw.headers,
    path: exchange.path,
    tenantInPath: parameters['tenantId'],
    correlation: exchange.correlation,
    async receive() {
      const received = await receive(reading, { request: raw, query, parameters }, gateway.clock);
      input = received.input;
      return received;
    },
  };
  try {
    const answer = await passThrough(arrival, gateway);
    return replyTo(answer, reading, version, input, {
      ifNoneMatch: raw.headers['if-none-match'],
      acceptEncoding: header(raw.headers, 'accept-encoding'),
    });
  } finally {
    exchange.correlation = arrival.correlation;
  }
}

function notFound(method: string, path: string): AuditError {
  return new AuditError('ROUTE_NOT_FOUND', `There is no ${method} ${path.slice(0, 200)}.`);
}

function noteRequest(exchange: Exchange, status: number, durationNs: number, telemetry: Telemetry): void {
  if (!telemetry.writes('Debug')) return;
  const { correlation, path, request } = exchange;
  const { requestId, traceId, correlationId } = correlation;
  const durationMs = Math.round(durationNs / 1e3) / 1e3;
  const facts = { method: request.method, path, status, durationMs, requestId, traceId, correlationId };
  telemetry.debug('request', facts);
}

function unreachable(): never {
  throw new Error('the first hook answers every request');
}
