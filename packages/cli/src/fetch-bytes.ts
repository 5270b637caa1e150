// Asks a service over HTTP, with a limit and a deadline. No redirect is followed: the API key goes to the address
// that was given and to no other. What cannot be had is NoAnswer, one line for people; what is longer than it can be is
// an EvidenceError.

import { EvidenceError } from '@tallystick/evidence';
import { CannotRun } from './cannot-run.ts';
import { type ErrorAnswer, errorAnswerIn } from './error-answer.ts';
import { printable } from './output/printable.ts';

export interface FetchOptions {
  readonly apiKey?: string | undefined;
  /** Where the address does not name it. */
  readonly tenant?: string | undefined;
  readonly bytesMax: number;
  readonly timeoutMs: number;
  /** What to do about an answer of that status. */
  readonly advice: Readonly<Partial<Record<number, string>>>;
  /** Sent as JSON, if there is one. */
  readonly body?: unknown;
  /** If nothing is said: POST where there is a body, and GET where there is none. */
  readonly method?: 'POST' | 'PUT' | 'PATCH' | 'DELETE';
  /** Beside those that every request has. */
  readonly headers?: Readonly<Record<string, string>>;
  readonly signal?: AbortSignal | undefined;
}

export interface Fetched {
  readonly bytes: Uint8Array;
  readonly headers: Headers;
}

const ANSWERED: readonly number[] = [200, 201, 202, 204];

/** Nobody answered, or not with one of these. */
export class NoAnswer extends CannotRun {
  /** Undefined: there was no whole answer. */
  readonly status: number | undefined;
  /** Of the error, where the service names one. */
  readonly code: string | undefined;

  constructor(message: string, status?: number, code?: string) {
    super(message);
    this.status = status;
    this.code = code;
  }
}

/** So much of the place that a service points to is shown. */
const LOCATION_MAX = 500;
const ERROR_BYTES_MAX = 65_536;

export async function fetchBytes(url: string, options: FetchOptions): Promise<Fetched> {
  const { bytesMax, timeoutMs, signal, advice } = options;
  const place = placeOf(url);
  const deadline = AbortSignal.timeout(timeoutMs);
  const request = requestOf(options);
  try {
    const response = await fetch(url, {
      ...request,
      redirect: 'manual',
      signal: signal === undefined ? deadline : AbortSignal.any([signal, deadline]),
    });
    if (ANSWERED.includes(response.status)) {
      return { bytes: await bodyOf(response, bytesMax, place), headers: response.headers };
    }
    throw await refusalOf(response, place, advice);
  } catch (error) {
    if (error instanceof CannotRun || error instanceof EvidenceError) throw error;
    if (error instanceof DOMException && error.name === 'TimeoutError') {
      throw new NoAnswer(`no whole answer from ${place} within ${timeoutMs / 1000} seconds`);
    }
    throw new NoAnswer(`cannot reach ${place}: ${causeOf(error)}`);
  }
}

/** As an option gives it, or the environment. An empty variable is one that was never set. */
export function apiKeyIn(option: string | undefined): string | undefined {
  return option || process.env['TALLYSTICK_API_KEY'] || undefined;
}

/** An address without a slash at its end; `what` it is of. Throws CannotRun. */
export function plainAddress(text: string, what: string): string {
  const url = URL.canParse(text) ? new URL(text) : undefined;
  if (url === undefined) throw new CannotRun(`${text.slice(0, 200)} is no address`);
  if (url.username !== '' || url.password !== '' || url.search !== '' || url.hash !== '') {
    throw new CannotRun(`the address of ${what} has no user, no question mark and no hash sign`);
  }
  return `${url.origin}${url.pathname}`.replace(/\/+$/, '');
}

export function textOf(bytes: Uint8Array, what: string): string {
  try {
    return new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytes);
  } catch {
    throw new EvidenceError('MALFORMED', `the ${what} is not valid UTF-8`);
  }
}

function requestOf({ apiKey, tenant, body, method, headers }: FetchOptions): RequestInit {
  // `fetch` would show a mistyped key in its error about the header.
  if (apiKey !== undefined && !/^[\x21-\x7e]+$/.test(apiKey)) {
    throw new CannotRun('the API key has a character that no key has');
  }
  return {
    method: method ?? (body === undefined ? 'GET' : 'POST'),
    ...(body !== undefined && { body: JSON.stringify(body) }),
    headers: {
      // What is counted is what was sent.
      'accept-encoding': 'identity',
      ...(body === undefined ? {} : { 'content-type': 'application/json' }),
      ...(apiKey === undefined ? {} : { 'x-api-key': apiKey }),
      ...(tenant === undefined ? {} : { 'x-tenant-id': tenant }),
      ...headers,
    },
  };
}

/** What was asked, without how: a query may be long. */
function placeOf(url: string): string {
  return url.replace(/\?.*$/s, '');
}

async function bodyOf(response: Response, bytesMax: number, place: string): Promise<Uint8Array> {
  const chunks: Uint8Array[] = [];
  let length = 0;
  for await (const chunk of (response.body ?? []) as AsyncIterable<Uint8Array>) {
    length += chunk.length;
    // Leaving the loop ends the connection.
    if (length > bytesMax) throw new EvidenceError('MALFORMED', `${place} is over ${bytesMax} bytes`);
    chunks.push(chunk);
  }
  return new Uint8Array(Buffer.concat(chunks, length));
}

/** One line: what was answered, in whose words, and what can be done. */
async function refusalOf(
  response: Response,
  place: string,
  advice: FetchOptions['advice'],
): Promise<NoAnswer> {
  const { status, headers } = response;
  if (status >= 300 && status < 400) {
    await response.body?.cancel();
    const target = printable((headers.get('location') ?? 'nowhere').slice(0, LOCATION_MAX));
    return new NoAnswer(
      `${place} answers ${status} and points to ${target}: redirects are not followed; if you trust that address, give it`,
      status,
    );
  }
  const { code, shown } = (await errorIn(response, place)) ?? {};
  // The address is right then, whatever else a 404 may mean.
  const what = code === 'API_VERSION_RETIRED' ? RETIRED : advice[status];
  const said = shown === undefined ? '' : ` (${shown})`;
  return new NoAnswer(
    `${place} answers ${status}${said}${what === undefined ? '' : `: ${what}`}`,
    status,
    code,
  );
}

const RETIRED = 'no version of the interface that this program knows is served at this address';

async function errorIn(response: Response, place: string): Promise<ErrorAnswer | undefined> {
  try {
    return errorAnswerIn(textOf(await bodyOf(response, ERROR_BYTES_MAX, place), 'error'));
  } catch (error) {
    if (error instanceof EvidenceError || error instanceof TypeError) return undefined;
    throw error;
  }
}

function causeOf(error: unknown): string {
  const cause = error instanceof Error && error.cause instanceof Error ? error.cause : error;
  if (!(cause instanceof Error)) return String(cause);
  return 'code' in cause && typeof cause.code === 'string' ? cause.code : cause.message;
}
