// A log as it is served over HTTP (c2sp.org/tlog-tiles): its checkpoint, its keys, its tiles and entries, each fetched
// with a limit and a deadline. No redirect is followed: the API key goes to the address that was given and to no other.
// What cannot be had is CannotRun; what is answered in another size than it must have is an EvidenceError.

import {
  ENTRY_BYTES,
  EvidenceError,
  formatTilePath,
  HASH_BYTES,
  parseJson,
  type Tile,
} from '@tallystick/evidence';
import { CannotRun } from './cannot-run.ts';
import { printable } from './printable.ts';

/** So much of what a service says of itself is shown. */
const WORDS_MAX = 500;

export interface ServedLog {
  /** Without a slash at its end. */
  readonly address: string;
  /** A signed note, not verified. */
  checkpoint(): Promise<string>;
  /** The verifier keys that the service itself shows; nobody has vouched for them. */
  keys(): Promise<string[]>;
  /** The bytes of a tile or of an entry bundle of our entries, in the length that its width asks for. */
  tile(tile: Tile): Promise<Uint8Array>;
  /** What the service shows of an entry of this log, as the proof of an event; not verified. */
  proof(eventId: string): Promise<string>;
}

export interface ServedLogOptions {
  readonly apiKey?: string | undefined;
  readonly timeoutMs?: number;
}

interface AskOptions extends ServedLogOptions {
  /** What to do about it, if it is not there. */
  readonly if404: string;
  /** Where the address does not name it. */
  readonly tenant?: string;
}

const TIMEOUT_MS = 30_000;
const TEXT_BYTES_MAX = 1_000_000;
const LOG_PATH = /\/log\/t\/([^/]+)$/;
const ERROR_BYTES_MAX = 65_536;
const LENGTH_BYTES = 2;

/** The address of a log: as given, or that of a tenant's log of the service at the address. Throws CannotRun. */
export function logAddress(text: string, tenant: string | undefined): string {
  const url = URL.canParse(text) ? new URL(text) : undefined;
  if (url === undefined) throw new CannotRun(`${text.slice(0, 200)} is no address`);
  if (url.username !== '' || url.password !== '' || url.search !== '' || url.hash !== '') {
    throw new CannotRun('the address of a log has no user, no question mark and no hash sign');
  }
  const base = `${url.origin}${url.pathname}`.replace(/\/+$/, '');
  const named = LOG_PATH.exec(base)?.[1];
  if (tenant === undefined) {
    if (url.pathname !== '/') return base;
    throw new CannotRun(
      `${base} is the address of a service: name the log by --tenant, or give ${base}/api/v1/log/t/<tenant>`,
    );
  }
  if (named !== undefined) {
    if (named === tenant) return base;
    throw new CannotRun(`the address is that of the log of ${named}, and --tenant is ${tenant}`);
  }
  return `${base.replace(/\/api\/v1$/, '')}/api/v1/log/t/${tenant}`;
}

export function servedLog(address: string, options: ServedLogOptions = {}): ServedLog {
  const get = (path: string, bytesMax: number, if404 = NO_LOG) =>
    getBytes(`${address}/${path}`, bytesMax, { ...options, if404 });
  const tenant = LOG_PATH.exec(address)?.[1];
  return {
    address,
    checkpoint: async () => textOf(await get('checkpoint', TEXT_BYTES_MAX), 'checkpoint'),
    keys: async () =>
      textOf(await get('key', TEXT_BYTES_MAX), 'key')
        .split('\n')
        .filter((line) => line !== ''),
    async tile(tile) {
      const path = formatTilePath(tile);
      const length = tile.width * (tile.level === 'entries' ? LENGTH_BYTES + ENTRY_BYTES : HASH_BYTES);
      const bytes = await get(path, length, NO_PART);
      if (bytes.length === length) return bytes;
      throw new EvidenceError('TRUNCATED', `${path} is ${bytes.length} bytes, not ${length}`);
    },
    async proof(eventId) {
      if (tenant === undefined) {
        throw new CannotRun(
          `the log at ${address} goes on after a restore, and its first entry can only be read where the service itself serves it (…/api/v1/log/t/<tenant>)`,
        );
      }
      const url = `${address.replace(LOG_PATH, '')}/audit-events/${eventId}/proof`;
      return textOf(await getBytes(url, TEXT_BYTES_MAX, { ...options, tenant, if404: NO_PART }), 'proof');
    },
  };
}

async function getBytes(
  url: string,
  bytesMax: number,
  { apiKey, tenant, if404, timeoutMs = TIMEOUT_MS }: AskOptions,
): Promise<Uint8Array> {
  try {
    const response = await fetch(url, {
      redirect: 'manual',
      signal: AbortSignal.timeout(timeoutMs),
      headers: {
        // What is counted is what was sent.
        'accept-encoding': 'identity',
        ...(apiKey === undefined ? {} : { 'x-api-key': apiKey }),
        ...(tenant === undefined ? {} : { 'x-tenant-id': tenant }),
      },
    });
    if (response.status === 200) return await bodyOf(response, bytesMax, url);
    throw new CannotRun(await refusalOf(response, url, if404));
  } catch (error) {
    if (error instanceof CannotRun || error instanceof EvidenceError) throw error;
    if (error instanceof DOMException && error.name === 'TimeoutError') {
      throw new CannotRun(`no whole answer from ${url} within ${timeoutMs / 1000} seconds`);
    }
    throw new CannotRun(`cannot read ${url}: ${causeOf(error)}`);
  }
}

async function bodyOf(response: Response, bytesMax: number, url: string): Promise<Uint8Array> {
  const chunks: Uint8Array[] = [];
  let length = 0;
  for await (const chunk of (response.body ?? []) as AsyncIterable<Uint8Array>) {
    length += chunk.length;
    // Leaving the loop ends the connection.
    if (length > bytesMax) throw new EvidenceError('MALFORMED', `${url} is over ${bytesMax} bytes`);
    chunks.push(chunk);
  }
  return new Uint8Array(Buffer.concat(chunks, length));
}

const NO_LOG = 'is this the address of a log, and is the tenant right?';
const NO_PART = 'its checkpoint is served, and this part of the log is not, or not to this API key';

const ADVICE: Readonly<Record<number, string>> = {
  401: 'give an API key that may verify (audit:verify) by TALLYSTICK_API_KEY or --api-key',
  403: 'the API key may not verify this log: it needs audit:verify, and the tenant',
};

/** One line: what was answered, in whose words, and what can be done. */
async function refusalOf(response: Response, url: string, if404: string): Promise<string> {
  const { status, headers } = response;
  if (status >= 300 && status < 400) {
    await response.body?.cancel();
    return `${url} answers ${status} and points to ${printable((headers.get('location') ?? 'nowhere').slice(0, WORDS_MAX))}: redirects are not followed; if you trust that address, give it`;
  }
  const said = await errorIn(response, url);
  const advice = status === 404 ? if404 : ADVICE[status];
  return `${url} answers ${status}${said === '' ? '' : ` (${said})`}${advice === undefined ? '' : `: ${advice}`}`;
}

async function errorIn(response: Response, url: string): Promise<string> {
  try {
    const body = parseJson(textOf(await bodyOf(response, ERROR_BYTES_MAX, url), 'error'));
    const { error } = body as { error?: { code?: unknown; message?: unknown } };
    const words = [error?.code, error?.message].filter((part) => typeof part === 'string').join(': ');
    return printable(words.slice(0, WORDS_MAX));
  } catch (error) {
    if (error instanceof EvidenceError || error instanceof TypeError) return '';
    throw error;
  }
}

function textOf(bytes: Uint8Array, what: string): string {
  try {
    return new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytes);
  } catch {
    throw new EvidenceError('MALFORMED', `the ${what} is not valid UTF-8`);
  }
}

function causeOf(error: unknown): string {
  const cause = error instanceof Error && error.cause instanceof Error ? error.cause : error;
  if (!(cause instanceof Error)) return String(cause);
  return 'code' in cause && typeof cause.code === 'string' ? cause.code : cause.message;
}
