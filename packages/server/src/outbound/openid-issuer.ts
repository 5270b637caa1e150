// An OpenID provider as an issuer of tokens: its keys are found by discovery (`/.well-known/openid-configuration`),
// or at the address that the settings give, and kept for ten minutes; a key id that is new to us has them fetched
// again, at most every 30 seconds. A provider that does not answer is UPSTREAM_TIMEOUT: nobody is let in unverified.
// Discovery is believed only about the issuer itself: it may name keys on the issuer's own origin and nowhere else, so
// that an attacker who alters that one document cannot point us at keys of their own.

import { AuditError } from '@tallystick/contract';
import { parseJson } from '@tallystick/evidence';
import { createRemoteJWKSet, customFetch, errors, type JWTVerifyGetKey } from 'jose';
import type { ClaimNames, Issuer } from '../access/tokens.ts';
import type { Clock } from '../runtime/clock.ts';
import type { Telemetry } from '../telemetry.ts';
import type { OutboundHttp } from './http/outbound-http.ts';

export interface OpenIdSettings {
  readonly issuer: string;
  readonly audience: string;
  /** Undefined: by discovery. */
  readonly jwksUri: string | undefined;
  readonly algorithms: readonly string[];
  readonly claims: ClaimNames;
  readonly requiresScope: boolean;
}

export interface FetchTimes {
  readonly timeoutMs: number;
  readonly cooldownMs: number;
  readonly keptMs: number;
}

const FETCH_TIMES: FetchTimes = { timeoutMs: 5000, cooldownMs: 30_000, keptMs: 600_000 };

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
  let keys: Promise<JWTVerifyGetKey> | undefined;
  let toldMs = -Infinity;

  const read = (address: string) => readJson(http, address, times.timeoutMs);
  const findKeys = async (): Promise<JWTVerifyGetKey> => {
    const address = settings.jwksUri ?? (await discover(issuer, read));
    return createRemoteJWKSet(new URL(address), {
      timeoutDuration: times.timeoutMs,
      cooldownDuration: times.cooldownMs,
      cacheMaxAge: times.keptMs,
      [customFetch]: async (url) => Response.json(await read(url)),
    });
  };
  const tell = (error: unknown) => {
    const nowMs = clock.monotonicNs() / 1e6;
    if (nowMs - toldMs < FAILURES_TOLD_EVERY_MS) return;
    toldMs = nowMs;
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
      // Where discovery failed the next token tries again; known keys stay, even if the provider fails.
      keys ??= findKeys().catch((error: unknown) => {
        keys = undefined;
        throw error;
      });
      try {
        return await (await keys)(header, token);
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
