// An OpenID provider as an issuer of tokens: its keys are found by discovery (`/.well-known/openid-configuration`),
// or at the address that the settings give, and kept for ten minutes; a key id that is new to us has them fetched
// again, at most four times in two minutes. A provider that does not answer is UPSTREAM_TIMEOUT: nobody is let in unverified.
// Discovery is believed only about the issuer itself: it may name keys on the issuer's own origin and nowhere else, so
// that an attacker who alters that one document cannot point us at keys of their own.

import { AuditError } from '@tallystick/contract';
import { parseJson } from '@tallystick/evidence';
import { errors } from 'jose';
import type { ClaimNames, Issuer } from '../access/tokens.ts';
import type { Clock } from '../runtime/clock.ts';
import type { Telemetry } from '../telemetry.ts';
import type { OutboundHttp } from './http/outbound-http.ts';
import { createPublishedKeys, type KeyTimes } from './openid-keys.ts';

export interface OpenIdSettings {
  readonly issuer: string;
  readonly audience: string;
  /** Undefined: by discovery. */
  readonly jwksUri: string | undefined;
  readonly algorithms: readonly string[];
  readonly claims: ClaimNames;
  readonly requiresScope: boolean;
}

export interface FetchTimes extends KeyTimes {
  readonly timeoutMs: number;
}

const FETCH_TIMES: FetchTimes = { timeoutMs: 5000, keptMs: 600_000, windowMs: 120_000, pauseMs: 1000 };

export interface OpenIdParts {
  readonly http: OutboundHttp;
  readonly clock: Clock;
  readonly telemetry: Pick<Telemetry, 'warn'>;
  readonly times?: FetchTimes;
}

/** Of a discovery document, and of a set of keys. Large providers publish some twenty kilobytes. */
const DOCUMENT_BYTES_MAX = 256 * 1024;

/** Otherwise every token would report again that a provider cannot be used. */
const FAILURES_TOLD_EVERY_MS = 60_000;

export function createOpenIdIssuer(settings: OpenIdSettings, parts: OpenIdParts): Issuer {
  const { issuer, audience, algorithms, claims, requiresScope } = settings;
  const { http, clock, telemetry, times = FETCH_TIMES } = parts;
  let toldMs = -Infinity;
  let discovered: { readonly address: string; readonly atMs: number } | undefined;

  const nowMs = () => clock.monotonicNs() / 1e6;
  const read = (address: string) => readJson(http, address, times.timeoutMs);
  /** Providers move their keys now and then, so what discovery said is believed for no longer than the keys. */
  const findAddress = async (): Promise<string> => {
    if (settings.jwksUri !== undefined) return settings.jwksUri;
    if (discovered === undefined || nowMs() - discovered.atMs >= times.keptMs)
      discovered = { address: await discover(issuer, read), atMs: nowMs() };
    return discovered.address;
  };
  const fetchKeys = async (): Promise<unknown> => {
    const address = await findAddress();
    try {
      return await read(address);
    } catch (error) {
      discovered = undefined;
      throw error;
    }
  };
  const publishedKey = createPublishedKeys(fetchKeys, clock, times);
  const tell = (error: unknown) => {
    if (nowMs() - toldMs < FAILURES_TOLD_EVERY_MS) return;
    toldMs = nowMs();
    const why = error instanceof Error ? error.message : String(error);
    telemetry.warn('cannot fetch the keys of an identity provider', { issuer, why });
  };
  return {
    issuer,
    audience,
    algorithms,
    claims,
    requiresScope,
    async keyFor(header, token) {
      try {
        return await publishedKey(header, token);
      } catch (error) {
        if (isAboutToken(error)) throw error;
        tell(error);
        const message = `The identity provider ${issuer} does not answer as it should.`;
        throw new AuditError('UPSTREAM_TIMEOUT', message, { cause: error });
      }
    },
  };
}

/** The provider answered; the token asks for a key that it does not have, or not just one. */
function isAboutToken(error: unknown): boolean {
  return (
    error instanceof errors.JWKSNoMatchingKey ||
    error instanceof errors.JWKSMultipleMatchingKeys ||
    error instanceof errors.JOSENotSupported
  );
}

/** Where the issuer keeps its keys, in its own words; a document of another issuer is not believed. */
async function discover(issuer: string, read: (address: string) => Promise<unknown>): Promise<string> {
  const address = `${issuer.replace(/\/$/, '')}/.well-known/openid-configuration`;
  const found = (await read(address)) as { issuer?: unknown; jwks_uri?: unknown } | null;
  if (found?.issuer !== issuer) throw new Error(`${address} is about another issuer`);
  if (typeof found.jwks_uri !== 'string') throw new Error(`${address} names no keys`);
  const { origin } = new URL(issuer);
  if (URL.parse(found.jwks_uri)?.origin !== origin) {
    const where = JSON.stringify(found.jwks_uri.slice(0, 200));
    throw new Error(`${address} names keys at ${where}, which is not on ${origin}; set JwksUri to allow it`);
  }
  return found.jwks_uri;
}

async function readJson(http: OutboundHttp, address: string, timeoutMs: number): Promise<unknown> {
  const { status, body } = await http.send({
    url: address,
    headers: { accept: 'application/json, application/jwk-set+json' },
    answerBytesMax: DOCUMENT_BYTES_MAX,
    timeoutMs,
  });
  if (status !== 200) throw new Error(`${address} answers ${status}`);
  return parseJson(new TextDecoder('utf-8', { fatal: true }).decode(body));
}
