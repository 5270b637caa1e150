// Asks a service for JSON, by the version that it serves. What is answered in another shape than it must have is an
// EvidenceError; what cannot be had is NoAnswer.

import { EvidenceError, parseJson } from '@tallystick/evidence';
import { fetchBytes, type FetchOptions, textOf } from './fetch-bytes.ts';
import { membersOf } from './members.ts';
import type { ServiceAccess } from './address-options.ts';
import { byServedVersion } from './served-version.ts';

export interface AskedService extends ServiceAccess {
  readonly signal?: AbortSignal;
}

/** What to do about an answer of that status. */
export type Advice = FetchOptions['advice'];

export interface AskOptions extends Pick<FetchOptions, 'body' | 'method' | 'headers'> {
  readonly advice?: Advice;
}

export interface Answered {
  readonly answer: Record<string, unknown>;
  readonly headers: Headers;
  readonly path: string;
}

export type AskService = (path: string, options?: AskOptions) => Promise<Answered>;

// Longer than the service itself takes before it gives up.
const TIMEOUT_MS = 45_000;
/** The service ends a page at a few megabytes of content. */
const ANSWER_BYTES_MAX = 64 * 1_048_576;

/** `advice` is for where the question brings none of its own. */
export function askerOf(service: AskedService, advice: Advice): AskService {
  const { address, tenant, apiKey, signal } = service;
  const byVersion = byServedVersion(service.version);
  return async (path, asked = {}) => {
    const options = { apiKey, tenant, signal, timeoutMs: TIMEOUT_MS, bytesMax: ANSWER_BYTES_MAX };
    const { bytes, headers } = await byVersion((version) =>
      fetchBytes(`${address}/api/${version}/${path}`, { ...options, advice, ...asked }),
    );
    // What was deleted is answered with nothing.
    const answer = asked.method === 'DELETE' ? {} : membersOf(parseJson(textOf(bytes, 'answer')));
    return { answer, headers, path };
  };
}

/** What stands behind the question mark. */
export function parameters(all: Readonly<Record<string, string | undefined>>): string {
  return Object.entries(all)
    .flatMap(([name, value]) => (value === undefined ? [] : [`${name}=${encodeURIComponent(value)}`]))
    .join('&');
}

/** The cursor of the page behind that of the answer. */
export function nextIn(answer: Record<string, unknown>): { readonly cursor: string | undefined } {
  const { cursor } = membersOf(answer['pagination']);
  return { cursor: typeof cursor === 'string' ? cursor : undefined };
}

/** All rows of a list. Throws an EvidenceError where one is of another shape. */
export async function allPages<Row>(
  ask: AskService,
  of: string,
  filter: Readonly<Record<string, string | undefined>>,
  isRow: (value: unknown) => value is Row,
): Promise<Row[]> {
  const all: Row[] = [];
  let cursor: string | undefined;
  do {
    const { answer, path } = await ask(`${of}?${parameters({ ...filter, cursor })}`);
    const rows = rowsOf(answer['data'], path);
    if (!rows.every(isRow)) throw misshapen(path);
    all.push(...rows);
    ({ cursor } = nextIn(answer));
  } while (cursor !== undefined);
  return all;
}

export function rowsOf(value: unknown, path: string): unknown[] {
  if (!Array.isArray(value)) throw misshapen(path);
  return value;
}

export function misshapen(path: string): EvidenceError {
  const place = path.replace(/\?.*$/s, '');
  return new EvidenceError('MALFORMED', `the answer of ${place} is not of the shape that it must have`);
}
