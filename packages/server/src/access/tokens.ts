// Bearer tokens: signed JWTs (RFC 7519) of the issuers that this service trusts. A token is believed when its issuer
// is one of them, its algorithm is on that issuer's list of asymmetric ones, its signature is by that issuer's key,
// it is meant for us, and it is in force; the clocks may differ by 5 seconds. Only then are its claims read. A
// verified token is remembered by its hash for a while, so that a busy caller is not verified at every request.
// That time is elapsed time; whether a token is in force is decided by the wall clock, as its issuer does.

import { hash } from 'node:crypto';
import { AuditError, type Classification, TENANT_ID_PATTERN, type TenantId } from '@tallystick/contract';
import { scanJson } from '@tallystick/evidence';
import { decodeJwt, errors, type JWTPayload, type JWTVerifyGetKey, jwtVerify } from 'jose';
import type { Clock } from '../runtime/clock.ts';
import { createSteadyTime } from '../runtime/steady-time.ts';
import { type Caller, callerOfToken } from './caller.ts';
import { isClassification } from './roles.ts';

export interface Tokens {
  /** Throws UNAUTHENTICATED or TOKEN_EXPIRED, and UPSTREAM_TIMEOUT when the issuer's keys cannot be fetched. */
  verify(token: string): Promise<Caller>;
}

/** An issuer whose tokens are accepted. */
export interface Issuer {
  readonly issuer: string;
  readonly audience: string;
  readonly algorithms: readonly string[];
  readonly claims: ClaimNames;
  /** A token must carry the operation's scope or permission claim, even if its roles would do. */
  readonly requiresScope: boolean;
  /** The public key for a token with this header; throws an error of jose, or UPSTREAM_TIMEOUT. */
  readonly keyFor: JWTVerifyGetKey;
}

/** The names of the claims. A name that is no claim is tried as a path: `realm_access.roles`. */
export interface ClaimNames {
  readonly tenant: string;
  readonly roles: string;
  readonly scopes: string;
  readonly permissions: string;
  readonly clearance: string;
}

/** A longer token is not even decoded; all headers of a request together have 16 KB. */
const TOKEN_LENGTH_MAX = 12_288;
/**
 * Tokens of other kinds are signed by the same keys: those that say who somebody is, log them out or prove a key. A token that says
 * that it is one of them lets nobody in (RFC 8725, 3.11; RFC 9068, 4). Many access tokens say nothing.
 */
const ACCESS_TOKEN_TYPE = /^(?:application\/)?(?:at\+)?jwt$/i;
const LEEWAY_SECONDS = 5;
const REMEMBERED_MAX = 10_000;
/** A key that its issuer has withdrawn may be accepted for this long. */
const REMEMBERED_MS_MAX = 300_000;
const TENANT_ID = new RegExp(TENANT_ID_PATTERN);
/** The subject becomes part of the log: text without control characters. */
const SUBJECT = /^[^\p{Cc}\p{Cs}]{1,512}$/u;

interface Remembered {
  readonly caller: Caller;
  readonly expiresAtMs: number;
  /** By steady time. */
  readonly forgetAtMs: number;
}

export function createTokens(issuers: readonly Issuer[], clock: Clock): Tokens {
  const byName = new Map(issuers.map((issuer) => [issuer.issuer, issuer]));
  const remembered = new Map<string, Remembered>();
  const steadyNowMs = createSteadyTime(clock);

  const remember = (name: string, entry: Remembered) => {
    if (remembered.size >= REMEMBERED_MAX) remembered.delete(remembered.keys().next().value!);
    remembered.set(name, entry);
  };

  return {
    async verify(token) {
      if (token.length > TOKEN_LENGTH_MAX) throw invalid(`it is over ${TOKEN_LENGTH_MAX} characters`);
      const steadyMs = steadyNowMs();
      const nowMs = clock.now();
      const name = hash('sha256', token, 'base64');
      const known = remembered.get(name);
      if (known !== undefined && nowMs < known.expiresAtMs && steadyMs < known.forgetAtMs)
        return known.caller;
      remembered.delete(name);
      const issuer = byName.get(issuerNamedIn(token));
      if (issuer === undefined) throw invalid('its issuer is not trusted here');
      const claims = await verifiedClaims(token, issuer, nowMs);
      const caller = callerOfToken(factsOf(claims, issuer));
      const expiresAtMs = claims.exp! * 1000;
      remember(name, { caller, expiresAtMs, forgetAtMs: steadyMs + REMEMBERED_MS_MAX });
      return caller;
    },
  };
}

/** Only says which keys to try; nothing is verified yet. */
function issuerNamedIn(token: string): string {
  try {
    return decodeJwt(token).iss ?? '';
  } catch {
    throw invalid('it is no signed JWT');
  }
}

async function verifiedClaims(token: string, issuer: Issuer, nowMs: number): Promise<JWTPayload> {
  try {
    const { payload, protectedHeader } = await jwtVerify(token, issuer.keyFor, {
      issuer: issuer.issuer,
      audience: issuer.audience,
      algorithms: [...issuer.algorithms],
      requiredClaims: ['exp', 'sub'],
      clockTolerance: LEEWAY_SECONDS,
      currentDate: new Date(nowMs),
    });
    if (protectedHeader.typ !== undefined && !ACCESS_TOKEN_TYPE.test(protectedHeader.typ))
      throw invalid('its type is not that of an access token');
    // JSON can write numbers that are beyond all time.
    if (!Number.isSafeInteger(Math.trunc(payload.exp!))) throw invalid('its claim exp does not fit');
    if (isAmbiguous(token)) throw invalid('it has a member twice, or text that is none');
    return payload;
  } catch (error) {
    if (error instanceof errors.JWTExpired) throw new AuditError('TOKEN_EXPIRED', 'The token has expired.');
    if (error instanceof errors.JOSEError) throw invalid(reasonOf(error));
    throw error;
  }
}

/** Whether another reader might understand header or claims differently. Numbers may be as large as they like. */
function isAmbiguous(token: string): boolean {
  return token
    .split('.', 2)
    .some((part) =>
      scanJson(Buffer.from(part, 'base64url')).violations.some(({ value }) => value === undefined),
    );
}

function reasonOf(error: errors.JOSEError): string {
  if (error instanceof errors.JWSSignatureVerificationFailed) return 'its signature does not fit';
  if (error instanceof errors.JOSEAlgNotAllowed) return 'its algorithm is not accepted';
  if (error instanceof errors.JWKSNoMatchingKey) return 'its key is not known';
  if (error instanceof errors.JWKSMultipleMatchingKeys) return 'it names none of several keys';
  if (error instanceof errors.JWTClaimValidationFailed) return `its claim ${error.claim} does not fit`;
  return 'it is no signed JWT';
}

function factsOf(payload: JWTPayload, { issuer, claims, requiresScope }: Issuer) {
  const { sub = '' } = payload;
  if (typeof sub !== 'string' || !SUBJECT.test(sub))
    throw invalid('its claim sub is no plain text of 1 to 512 characters');
  return {
    issuer,
    subject: sub,
    tenant: tenantIn(payload, claims.tenant),
    roles: textsIn(payload, claims.roles),
    scopes: textsIn(payload, claims.scopes),
    permissions: textsIn(payload, claims.permissions),
    clearance: clearanceIn(payload, claims.clearance),
    requiresScope,
  };
}

function tenantIn(payload: JWTPayload, name: string): TenantId | undefined {
  const value = claimIn(payload, name);
  if (value === undefined) return undefined;
  if (typeof value === 'string' && TENANT_ID.test(value)) return value;
  throw invalid(`its claim ${name} is no tenant id`);
}

function clearanceIn(payload: JWTPayload, name: string): Classification | undefined {
  const value = claimIn(payload, name);
  if (value === undefined || isClassification(value)) return value;
  throw invalid(`its claim ${name} is no classification`);
}

/** A list of texts, or one text with spaces between them. */
function textsIn(payload: JWTPayload, name: string): string[] {
  const value = claimIn(payload, name) ?? [];
  const texts: unknown[] =
    typeof value === 'string' ? value.split(' ') : Array.isArray(value) ? value : [value];
  if (!texts.every((text) => typeof text === 'string'))
    throw invalid(`its claim ${name} is no list of texts`);
  return texts.filter((text) => text !== '');
}

/** The value of a claim; null counts as absent. */
function claimIn(payload: JWTPayload, name: string): unknown {
  if (Object.hasOwn(payload, name)) return payload[name] ?? undefined;
  return name.split('.').reduce<unknown>((value, part) => {
    if (typeof value !== 'object' || value === null || !Object.hasOwn(value, part)) return undefined;
    return (value as Record<string, unknown>)[part] ?? undefined;
  }, payload);
}

function invalid(why: string): AuditError {
  return new AuditError('UNAUTHENTICATED', `The bearer token is not valid: ${why}.`);
}
