// Which pages of other origins may ask the service from a browser (Fetch Standard, 3.2). Credentials are sent in headers that a page
// must have been given, never as cookies, so nothing is allowed that a page could do in the name of somebody else.

import type { IncomingMessage } from 'node:http';
import { ANSWER_HEADERS } from '@tallystick/contract';
import type { AnswerHeaders, Reply } from './mount.ts';

export interface Cors {
  /** For every answer, also to others: caches must know that it depends on who does. */
  headersFor(request: IncomingMessage): AnswerHeaders;
  /** The answer to a browser that asks before it asks; undefined: it is no such question, or not from an allowed origin. */
  preflight(request: IncomingMessage): Reply | undefined;
}

const METHODS = 'GET, HEAD, POST, PUT, PATCH, DELETE';
const MAX_AGE_SECONDS = 600;
const DEPENDS = { Vary: 'Origin' };
const EXPOSED = Object.keys(ANSWER_HEADERS).join(', ');

export function createCors(origins: readonly string[] = []): Cors | undefined {
  if (origins.length === 0) return undefined;
  const allowed = new Set(origins.map((origin) => new URL(origin).origin));
  return {
    headersFor({ headers: { origin } }) {
      if (origin === undefined || !allowed.has(origin)) return DEPENDS;
      return {
        ...DEPENDS,
        'Access-Control-Allow-Origin': origin,
        'Access-Control-Expose-Headers': EXPOSED,
      };
    },
    preflight({ method, headers }) {
      const { origin, 'access-control-request-method': wanted } = headers;
      if (method !== 'OPTIONS' || wanted === undefined || origin === undefined || !allowed.has(origin))
        return undefined;
      const wantedHeaders = headers['access-control-request-headers'];
      return {
        status: 204,
        headers: {
          'Access-Control-Allow-Methods': METHODS,
          // All that it wants to send: each is judged when it is sent.
          ...(isListOfNames(wantedHeaders) && { 'Access-Control-Allow-Headers': wantedHeaders }),
          'Access-Control-Max-Age': String(MAX_AGE_SECONDS),
        },
        body: undefined,
        coding: undefined,
      };
    },
  };
}

function isListOfNames(text: string | undefined): text is string {
  return (
    text !== undefined &&
    text.length <= 1000 &&
    /^[\w!#$%&'*+.^`|~-]+(\s*,\s*[\w!#$%&'*+.^`|~-]+)*$/.test(text)
  );
}
