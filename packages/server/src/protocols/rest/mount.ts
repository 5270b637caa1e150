// REST: finds the operation that a request asks for, sends it through the gateway and turns the answer into a status, headers
// and a body. REST serves every path that no other mount serves, so unknown paths are answered here.

import { AuditError } from '@tallystick/contract';
import { type Arrival, type Gateway, passThrough } from '../../gateway/pipeline.ts';
import { FIRST_VERSION } from '../../gateway/versions.ts';
import type { AnswerHeaders, Exchange, Mount, Reply } from '../http/mount.ts';
import { ratedSender } from '../http/rated-sender.ts';
import { callFacts, header } from '../http/request-headers.ts';
import { standingHeaders } from '../http/standing-headers.ts';
import { versionHeaders } from '../http/version-headers.ts';
import { replyTo, replyToError } from './answer.ts';
import type { BodyParts } from '../input/json-body.ts';
import { receive, VERSION_PARAMETER } from './input.ts';
import { parseQueryString } from '../http/query.ts';
import { createRouter, type Router } from './router.ts';
import { routesFor } from './routes.ts';
import { readVersion, VERSION_READERS } from './versions.ts';

/** A link that the service has signed has it. */
const LINK_PARAMETER = 'signature';

export interface RestOptions {
  readonly gateway: Gateway;
  readonly bodies: BodyParts;
  /** Whether the service is reached over TLS, here or at a proxy in front. */
  readonly isTls: boolean;
}

export function createRestMount({ gateway, bodies, isTls }: RestOptions): Mount {
  const router = createRouter(routesFor(gateway.operations));
  return {
    prefix: '',
    standingHeaders: standingHeaders(isTls),
    handle: (exchange) => routed(exchange, router, bodies, gateway),
    refuse: (error, place) => replyToError(error, place, gateway.clock.now()),
  };
}

async function routed(
  exchange: Exchange,
  router: Router,
  bodies: BodyParts,
  gateway: Gateway,
): Promise<Reply> {
  const { request, path, queryText, correlation } = exchange;
  const { method = '', headers } = request;
  const found = router(method, path);
  if (found === undefined) throw notFound(method, path);
  const { route, parameters } = found;
  const query = parseQueryString(route.ignoresQuery ? '' : queryText);
  if (route.version === undefined && !route.atRoot)
    exchange.addedHeaders = alsoVarying(exchange.addedHeaders, VERSION_READERS);
  const version = route.atRoot
    ? undefined
    : readVersion(route.version, headers, query.get(VERSION_PARAMETER) ?? []);
  exchange.addedHeaders = {
    ...exchange.addedHeaders,
    ...versionHeaders(version, gateway.versionStates),
  };
  const binding = route.bindings.get(version ?? FIRST_VERSION);
  if (binding === undefined) throw notFound(method, path);
  exchange.served = { operation: binding.operation.name, route: route.url };

  const input: Record<string, unknown> = {};
  const arrival: Arrival = {
    ...callFacts(exchange),
    operation: binding.operation,
    isLinked: query.has(LINK_PARAMETER),
    version,
    addressedTenant: parameters['tenantId'],
    correlation,
    sender: ratedSender(exchange, gateway.clock),
    path,
    receive: (sender, onSent) =>
      receive(binding, { request, path, query, parameters, sender, onSent }, input, bodies),
  };
  const answer = await passThrough(arrival, gateway);
  return replyTo(answer, binding, version ?? FIRST_VERSION, input, {
    path,
    queryText,
    accept: headers.accept,
    ifNoneMatch: headers['if-none-match'],
    acceptEncoding: header(headers, 'accept-encoding'),
  });
}

function alsoVarying(headers: AnswerHeaders, names: string): AnswerHeaders {
  const { Vary } = headers;
  return { ...headers, Vary: Vary === undefined ? names : `${Vary}, ${names}` };
}

function notFound(method: string, path: string): AuditError {
  return new AuditError('ROUTE_NOT_FOUND', `There is no ${method} ${path.slice(0, 200)}.`);
}
