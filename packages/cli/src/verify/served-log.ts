// A log as it is served over HTTP (c2sp.org/tlog-tiles): its checkpoint, its keys, its tiles and entries, each fetched
// with a limit and a deadline, from the address that was given and from no other. What cannot be had is CannotRun; what is
// answered in another size than it must have is an EvidenceError.

import { ENTRY_BYTES, EvidenceError, formatTilePath, HASH_BYTES, type Tile } from '@tallystick/evidence';
import { CannotRun } from '../cannot-run.ts';
import { fetchBytes, plainAddress, textOf } from '../fetch-bytes.ts';
import { byServedVersion, splitVersion } from '../served-version.ts';

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

const TIMEOUT_MS = 30_000;
const TEXT_BYTES_MAX = 1_000_000;
const LOG_PATH = /\/log\/t\/([^/]+)$/;
const LENGTH_BYTES = 2;

/** The address of a log: as given, or that of a tenant's log of the service at the address. Throws CannotRun. */
export function logAddress(text: string, tenant: string | undefined): string {
  const base = plainAddress(text, 'a log');
  const named = LOG_PATH.exec(base)?.[1];
  if (tenant === undefined) {
    if (new URL(base).pathname !== '/') return base;
    throw new CannotRun(
      `${base} is the address of a service: name the log by --tenant, or give ${base}/api/v1/log/t/<tenant>`,
    );
  }
  if (named !== undefined) {
    if (named === tenant) return base;
    throw new CannotRun(`the address is that of the log of ${named}, and --tenant is ${tenant}`);
  }
  const { base: service, version } = splitVersion(base);
  return `${service}/api/${version}/log/t/${tenant}`;
}

export function servedLog(address: string, options: ServedLogOptions = {}): ServedLog {
  const { apiKey, timeoutMs = TIMEOUT_MS } = options;
  const tenant = LOG_PATH.exec(address)?.[1];
  const at = servedAt(address);
  const fetched = async (url: string, bytesMax: number, if404: string, asTenant?: string) => {
    const advice = { ...ADVICE, 404: if404 };
    return (await fetchBytes(url, { apiKey, tenant: asTenant, bytesMax, timeoutMs, advice })).bytes;
  };
  const get = (path: string, bytesMax: number, if404 = NO_LOG) =>
    at((log) => fetched(`${log}/${path}`, bytesMax, if404));
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
      const bytes = await at((log) => {
        const url = `${log.replace(LOG_PATH, '')}/audit-events/${eventId}/proof`;
        return fetched(url, TEXT_BYTES_MAX, NO_PART, tenant);
      });
      return textOf(bytes, 'proof');
    },
  };
}

/**
 * Reads at the address, or at that of a later version where its own is retired. The log stays known by the address that
 * was given: under another one no kept checkpoint would be found.
 */
function servedAt(address: string): <Answer>(read: (log: string) => Promise<Answer>) => Promise<Answer> {
  const path = LOG_PATH.exec(address)?.[0] ?? '';
  const { base, version } = splitVersion(address.slice(0, address.length - path.length));
  // A log that is kept as files somewhere has no versions.
  if (!address.startsWith(`${base}/api/`)) return (read) => read(address);
  const byVersion = byServedVersion(version);
  return (read) => byVersion((served) => read(`${base}/api/${served}${path}`));
}

const NO_LOG = 'is this the address of a log, and is the tenant right?';
const NO_PART = 'its checkpoint is served, and this part of the log is not, or not to this API key';

const ADVICE: Readonly<Record<number, string>> = {
  401: 'give an API key that may verify (audit:verify) by TALLYSTICK_API_KEY or --api-key',
  403: 'the API key may not verify this log: it needs audit:verify, and the tenant',
};
