// The span of a request. It is named by method and route: paths have ids in them, and queries whatever callers look for. Probes
// and scrapes have none: they come every few seconds, and tell nothing.

import type { IncomingMessage } from 'node:http';
import type { Span, SpanFacts, SpanStart } from '../../telemetry/tracing.ts';
import type { Exchange } from './mount.ts';
import { splitTarget } from './target.ts';

const METHODS: ReadonlySet<string> = new Set(['GET', 'HEAD', 'POST', 'PUT', 'DELETE', 'OPTIONS', 'PATCH']);
/** Any other text that a caller sends as one. */
const OTHER_METHOD = '_OTHER';
const PROBE =
  /^(?:(?:\/api(?:\/v[12])?)?\/health(?:\/(?:live|ready|startup))?|\/metrics|\/api(?:\/v[12])?\/admin\/metrics)\/?$/;

export function isProbe({ url = '' }: IncomingMessage): boolean {
  return PROBE.test(splitTarget(url).path);
}

export function requestSpan({ method = '', headers }: IncomingMessage, isTls: boolean): SpanStart {
  const known = METHODS.has(method) ? method : OTHER_METHOD;
  return {
    name: known,
    kind: 'Server',
    under: { headers },
    facts: { 'http.request.method': known, 'url.scheme': isTls ? 'https' : 'http' },
  };
}

export function noteAnswer(span: Span, { request, served }: Exchange, status: number): void {
  let facts: SpanFacts = { 'http.response.status_code': status };
  if (served !== undefined) {
    const { operation, route } = served;
    facts = {
      ...facts,
      'http.route': route,
      ...(operation !== undefined && { 'tallystick.operation': operation }),
    };
    span.rename(`${METHODS.has(request.method ?? '') ? request.method : OTHER_METHOD} ${route}`);
  }
  span.note(facts);
  if (status >= 500) span.fail(String(status));
}
