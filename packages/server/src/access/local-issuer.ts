// The service as its own issuer of tokens, for operators without an identity provider: `tallystick token` signs with an
// Ed25519 key that lies in the data directory, and the service believes what that key signed. The key is looked up
// when a token asks for it, so one that was made after the start counts at once.

import { createHash, createPublicKey, type KeyObject } from 'node:crypto';
import type { Classification, Role, Scope, TenantId } from '@tallystick/contract';
import { errors, SignJWT } from 'jose';
import { TOKEN_LIFETIME_SECONDS_MAX } from './token-lifetime.ts';
import type { ClaimNames, Issuer } from './tokens.ts';

export const LOCAL_ISSUER = 'tallystick';
const ALGORITHM = 'EdDSA';

export const CLAIM_NAMES: ClaimNames = {
  tenant: 'tenant_id',
  roles: 'roles',
  scopes: 'scope',
  permissions: 'permissions',
  clearance: 'clearance',
};

/** The private key as it is kept; undefined while none was made. */
export type LoadTokenKey = () => Promise<KeyObject | undefined>;

export interface TokenRequest {
  readonly tenant: TenantId;
  readonly subject: string;
  readonly roles: readonly Role[];
  readonly scopes: readonly Scope[];
  readonly clearance: Classification | undefined;
  readonly lifetimeSeconds: number;
}

export function createLocalIssuer(loadKey: LoadTokenKey): Issuer {
  let known: { kid: string; publicKey: KeyObject } | undefined;
  return {
    issuer: LOCAL_ISSUER,
    audience: LOCAL_ISSUER,
    algorithms: [ALGORITHM],
    claims: CLAIM_NAMES,
    requiresScope: true,
    async keyFor({ kid }) {
      if (known === undefined || known.kid !== kid) {
        const privateKey = await loadKey();
        if (privateKey !== undefined) known = publicPart(privateKey);
      }
      if (known === undefined || known.kid !== kid) throw new errors.JWKSNoMatchingKey();
      return known.publicKey;
    },
  };
}

/** Throws RangeError for a lifetime that is too long. */
export function signToken(privateKey: KeyObject, request: TokenRequest, nowMs: number): Promise<string> {
  if (!(request.lifetimeSeconds <= TOKEN_LIFETIME_SECONDS_MAX)) {
    throw new RangeError(
      `a token works for at most ${TOKEN_LIFETIME_SECONDS_MAX} seconds; ${request.lifetimeSeconds} were asked for`,
    );
  }
  const issuedAt = Math.floor(nowMs / 1000);
  const { roles, scopes, clearance } = request;
  const claims = {
    [CLAIM_NAMES.tenant]: request.tenant,
    ...(roles.length > 0 && { [CLAIM_NAMES.roles]: roles }),
    ...(scopes.length > 0 && { [CLAIM_NAMES.scopes]: scopes.join(' ') }),
    ...(clearance !== undefined && { [CLAIM_NAMES.clearance]: clearance }),
  };
  return new SignJWT(claims)
    .setProtectedHeader({ alg: ALGORITHM, typ: 'JWT', kid: publicPart(privateKey).kid })
    .setIssuer(LOCAL_ISSUER)
    .setAudience(LOCAL_ISSUER)
    .setSubject(request.subject)
    .setIssuedAt(issuedAt)
    .setNotBefore(issuedAt)
    .setExpirationTime(issuedAt + request.lifetimeSeconds)
    .sign(privateKey);
}

/** The key id is a hash of the public key, so a new key has a new one by itself. */
function publicPart(privateKey: KeyObject): { kid: string; publicKey: KeyObject } {
  const publicKey = createPublicKey(privateKey);
  const encoded = publicKey.export({ format: 'der', type: 'spki' });
  return { kid: createHash('sha256').update(encoded).digest('base64url').slice(0, 22), publicKey };
}
