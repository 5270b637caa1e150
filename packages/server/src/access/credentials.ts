// Finds the caller from the credentials of a request: an API key, a bearer token, or both. Everything that is not exactly
// one well-formed credential per header is refused; a header that was sent twice arrives joined by ", ", which fits
// neither form. Neither messages nor diagnostics ever hold a credential.

import { AuditError } from '@tallystick/contract';
import { withinNetworks } from '../runtime/networks.ts';
import type { Clock } from '../runtime/clock.ts';
import type { Telemetry } from '../telemetry.ts';
import { type ApiKeyRecord, type ApiKeys, hashOfKey, KEY_PREFIX, verifyKey } from './api-keys.ts';
import { type Caller, callerOfBoth, callerOfKey } from './caller.ts';
import { createExpiryWarnings } from './expiring-keys.ts';
import type { KeyUses } from './key-uses.ts';
import type { Tokens } from './tokens.ts';

/** The credentials of a request, not verified yet. */
export interface Credentials {
  /** The value of `Authorization`. */
  readonly authorization: string | undefined;
  /** The value of `X-API-Key`. */
  readonly apiKey: string | undefined;
  /** Where the request comes from. Undefined: nobody knows. */
  readonly address?: () => string;
}

/**
 * Verifies all credentials of a request; two must both be valid and agree. Throws UNAUTHENTICATED, TOKEN_EXPIRED
 * or API_KEY_REVOKED, and UPSTREAM_TIMEOUT when an identity provider does not answer.
 */
export type Authenticate = (credentials: Credentials) => Promise<Caller>;

export interface CredentialParts {
  readonly keys: Pick<ApiKeys, 'findByHash'>;
  readonly uses: Pick<KeyUses, 'used'>;
  readonly tokens: Tokens;
  readonly clock: Clock;
  readonly telemetry: Pick<Telemetry, 'warn'>;
}

/** The characters of a bearer token (RFC 6750); the name of the scheme is read without regard to case. */
const BEARER = /^bearer +([A-Za-z0-9._~+/-]+=*)$/i;
const HASHES_MAX = 10_000;
const API_KEY = /^[\x21-\x7e]{1,200}$/;

export function createAuthenticate({ keys, uses, tokens, clock, telemetry }: CredentialParts): Authenticate {
  const warnOfExpiry = createExpiryWarnings(telemetry);
  // A store hands out the same record until something changes, so its caller is made once.
  const callers = new WeakMap<ApiKeyRecord, Caller>();

  // A key that sends many requests is hashed once. Only keys that work are kept, so strangers cannot fill the memory.
  const hashes = new Map<string, Uint8Array>();

  const makeCaller = (record: ApiKeyRecord): Caller => {
    const caller = callerOfKey(record);
    callers.set(record, caller);
    return caller;
  };

  // Each record's networks are read once.
  const networks = new WeakMap<ApiKeyRecord, (address: string) => boolean>();
  const checkNetwork = (record: ApiKeyRecord, address: Credentials['address']): void => {
    const { allowedNetworks, keyId } = record;
    if (allowedNetworks === undefined) return;
    const isWithin = networks.get(record) ?? withinNetworks(allowedNetworks);
    networks.set(record, isWithin);
    const from = address?.() ?? 'an unknown address';
    if (!isWithin(from))
      throw new AuditError('FORBIDDEN', `The API key ${keyId} may not be used from ${from}.`);
  };

  const byKey = async (apiKey: string, address: Credentials['address']): Promise<Caller> => {
    if (!API_KEY.test(apiKey)) throw unauthenticated('X-API-Key must hold one API key, and be sent once.');
    const hash = hashes.get(apiKey) ?? hashOfKey(apiKey);
    const nowMs = clock.now();
    const record = await verifyKey(apiKey, keys, nowMs, hash);
    checkNetwork(record, address);
    uses.used(record, nowMs);
    warnOfExpiry(record, nowMs);
    if (hashes.size >= HASHES_MAX) hashes.clear();
    hashes.set(apiKey, hash);
    return callers.get(record) ?? makeCaller(record);
  };
  const byToken = (authorization: string): Promise<Caller> => {
    const token = BEARER.exec(authorization)?.[1];
    if (token === undefined)
      throw unauthenticated('Authorization must be "Bearer <token>", and be sent once.');
    if (token.startsWith(KEY_PREFIX))
      throw unauthenticated('Authorization holds an API key: send it in the header X-API-Key.');
    return tokens.verify(token);
  };

  const byBoth = async (
    authorization: string,
    apiKey: string,
    address: Credentials['address'],
  ): Promise<Caller> => {
    const key = await byKey(apiKey, address);
    const caller = callerOfBoth(await byToken(authorization), key);
    if (caller === undefined) throw unauthenticated('The token and the API key are not for the same tenant.');
    return caller;
  };

  return ({ authorization, apiKey, address }) => {
    if (authorization !== undefined) {
      return apiKey === undefined ? byToken(authorization) : byBoth(authorization, apiKey, address);
    }
    if (apiKey === undefined) throw unauthenticated('There is no credential.');
    return byKey(apiKey, address);
  };
}

function unauthenticated(message: string): AuditError {
  return new AuditError('UNAUTHENTICATED', message);
}
