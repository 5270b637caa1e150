// An OpenID provider as an issuer of tokens: its keys are found by discovery (`/.well-known/openid-configuration`),
// or at the address that the settings give, and kept for ten minutes; a key id that is new to us has them fetched
// again, at most every 30 seconds. A provider that does not answer is UPSTREAM_TIMEOUT: nobody is let in unverified.

import { AuditError } from '@tallystick/contract';
import { parseJson } from '@tallystick/evidence';
import { createRemoteJWKSet, errors, type JWTVerifyGetKey } from 'jose';
import type { ClaimNames, Issuer } from '../access/tokens.ts';

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

export function createOpenIdIssuer(settings: OpenIdSettings, times: FetchTimes = FETCH_TIMES): Issuer {
  const { issuer, audience, algorithms, claims, requiresScope } = settings;
  let keys: Promise<JWTVerifyGetKey> | undefined;

  const findKeys = async (): Promise<JWTVerifyGetKey> => {
    const address = settings.jwksUri ?? (await discover(issuer, times.timeoutMs));
    return createRemoteJWKSet(new URL(address), {
      timeoutDuration: times.timeoutMs,
      cooldownDuration: times.cooldownMs,
      cacheMaxAge: times.keptMs,
    });
  };
  return {
    issuer,
    audience,
    algorithms,
    claims,
    requiresScope,
    async keyFor(header, token) {
      // Where discovery failed the next token tries again; keys that were had stay, whatever becomes of the provider.
      keys ??= findKeys().catch((error: unknown) => {
        keys = undefined;
        throw error;
      });
      try {
        return await (await keys)(header, token);
      } catch (error) {
        if (isAboutToken(error)) throw error;
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
async function discover(issuer: string, timeoutMs: number): Promise<string> {
  const address = `${issuer.replace(/\/$/, '')}/.well-known/openid-configuration`;
  const response = await fetch(address, {
    redirect: 'error',
    headers: { accept: 'application/json' },
    signal: AbortSignal.timeout(timeoutMs),
  });
  if (!response.ok) throw new Error(`${address} answers ${response.status}`);
  const found = parseJson(await response.text()) as { issuer?: unknown; jwks_uri?: unknown } | null;
  if (found?.issuer !== issuer) throw new Error(`${address} is about another issuer`);
  if (typeof found.jwks_uri !== 'string') throw new Error(`${address} names no keys`);
  return found.jwks_uri;
}
