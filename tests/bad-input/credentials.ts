// Credentials that must not open anything: tokens forged in every way that has worked somewhere, keys that are not
// for this, and those that are no longer for anything.

import { createHmac, createPrivateKey, createPublicKey, type KeyObject, sign } from 'node:crypto';
import { type BadRequest, GOOD } from './case.ts';

/** What the service has issued, for the tables to bend. */
export interface Issued {
  /** The private key of the local issuer, as it lies in the data directory. */
  readonly tokenKeyPem: string;
  /** A good token of the tenant acme that may write. */
  readonly token: string;
  readonly tokenOfGlobex: string;
  readonly readOnlyToken: string;
  readonly viewerToken: string;
  readonly keyOfGlobex: string;
  readonly viewerKey: string;
  readonly readScopeKey: string;
  readonly revokedKey: string;
  readonly expiredKey: string;
  readonly adminKeyOfAcme: string;
}

type Json = Record<string, unknown>;

export function credentialCases(issued: Issued): BadRequest[] {
  return [...tokenCases(issued), ...keyCases(issued)];
}

function tokenCases(issued: Issued): BadRequest[] {
  const { token } = issued;
  const [head, body, signature] = token.split('.') as [string, string, string];
  const header = decode(head);
  const claims = decode(body);
  const key = createPrivateKey(issued.tokenKeyPem);
  const publicPem = createPublicKey(key).export({ format: 'pem', type: 'spki' });
  const now = Math.floor(Date.now() / 1000);
  const signed = (change: Json, headerChange: Json = {}) =>
    signedBy(key, { ...header, ...headerChange }, { ...claims, ...change });
  const hmac = (secret: string | Buffer) => {
    const text = `${encode({ ...header, alg: 'HS256' })}.${body}`;
    return `${text}.${createHmac('sha256', secret).update(text).digest('base64url')}`;
  };
  const unsigned = `${encode({ ...header, alg: 'none' })}.${body}.`;
  const bad = (name: string, value: string, status = 401, code = 'UNAUTHENTICATED'): BadRequest => ({
    name: `token: ${name}`,
    headers: { Authorization: `Bearer ${value}`, 'X-API-Key': undefined },
    body: GOOD,
    status,
    code,
  });
  return [
    bad('alg none', unsigned),
    bad('alg None', `${encode({ ...header, alg: 'None' })}.${body}.`),
    bad('alg none with the old signature', `${encode({ ...header, alg: 'none' })}.${body}.${signature}`),
    bad('HS256 under the public key', hmac(publicPem)),
    bad('HS256 under the public key without a line end', hmac(String(publicPem).trim())),
    bad('HS256 under nothing', hmac('')),
    bad('no signature', `${head}.${body}.`),
    bad('two parts', `${head}.${body}`),
    bad('four parts', `${token}.${signature}`),
    bad('a signature cut short', token.slice(0, -4)),
    bad('another tenant put in', `${head}.${encode({ ...claims, tenant_id: 'globex' })}.${signature}`),
    bad('no JWT', 'hello'),
    bad('an unknown key id', signed({}, { kid: 'unknown' })),
    bad('no key id', signed({}, { kid: undefined })),
    bad('a critical extension', signed({}, { crit: ['x'], x: 1 })),
    bad('another audience', signed({ aud: 'other' })),
    bad('no audience', signed({ aud: undefined })),
    bad('another issuer', signed({ iss: 'https://evil.test' })),
    bad('no issuer', signed({ iss: undefined })),
    bad('no subject', signed({ sub: undefined })),
    bad('no expiry', signed({ exp: undefined })),
    bad('an expiry that is a text', signed({ exp: 'never' })),
    bad('not yet valid', signed({ nbf: now + 3600 })),
    bad('expired', signed({ exp: now - 60 }), 401, 'TOKEN_EXPIRED'),
    bad('roles that are a number', signed({ roles: 5 })),
    bad('a clearance that is none', signed({ clearance: 'All' })),
    bad('a tenant that is none', signed({ tenant_id: '../x' })),
    bad('a tenant that is every tenant', signed({ tenant_id: '*' })),
    bad('another tenant', issued.tokenOfGlobex, 403, 'TENANT_MISMATCH'),
    bad('no tenant', signed({ tenant_id: undefined }), 403, 'TENANT_MISMATCH'),
    bad('no scope', signed({ scope: undefined, permissions: undefined }), 403, 'INSUFFICIENT_SCOPE'),
    bad('the scope to read', issued.readOnlyToken, 403, 'INSUFFICIENT_SCOPE'),
    bad('scopes of others', signed({ scope: 'openid profile' }), 403, 'INSUFFICIENT_SCOPE'),
    bad('the role of a viewer', issued.viewerToken, 403, 'INSUFFICIENT_SCOPE'),
    bad(
      'a viewer who claims the scope to write',
      signed({ roles: ['Viewer'], scope: 'audit:write' }),
      403,
      'FORBIDDEN',
    ),
    bad('a role that nobody knows', signed({ roles: ['Root'], scope: 'audit:write' }), 403, 'FORBIDDEN'),
    ...[
      'Basic dXNlcjpwYXNz',
      'Bearer',
      'Bearer ',
      `Bearer ${token} ${token}`,
      `Token ${token}`,
      `Bearer ${token}, Bearer ${token}`,
      token,
    ].map(
      (value): BadRequest => ({
        name: `Authorization: ${value.slice(0, 24)}`,
        headers: { Authorization: value, 'X-API-Key': undefined },
        body: GOOD,
        status: 401,
        code: 'UNAUTHENTICATED',
      }),
    ),
  ];
}

function keyCases(issued: Issued): BadRequest[] {
  const { adminKeyOfAcme: good } = issued;
  const bad = (
    name: string,
    value: string | undefined,
    status = 401,
    code = 'UNAUTHENTICATED',
  ): BadRequest => ({
    name: `key: ${name}`,
    headers: { 'X-API-Key': value },
    body: GOOD,
    status,
    code,
  });
  const other = good.at(-1) === '0' ? '1' : '0';
  return [
    bad('none', undefined),
    bad('empty', ''),
    bad('unknown', 'tsk_unknown'),
    bad('one character changed', `${good.slice(0, -1)}${other}`),
    bad('cut short', good.slice(0, -3)),
    bad('in lower case', good.toLowerCase()),
    bad('with something behind it', `${good}x`),
    bad('its id alone', good.split('_')[1]),
    bad('revoked', issued.revokedKey, 401, 'API_KEY_REVOKED'),
    bad('expired', issued.expiredKey, 401, 'API_KEY_REVOKED'),
    bad('of another tenant', issued.keyOfGlobex, 403, 'TENANT_MISMATCH'),
    bad('of a viewer', issued.viewerKey, 403, 'FORBIDDEN'),
    bad('with the scope to read', issued.readScopeKey, 403, 'INSUFFICIENT_SCOPE'),
    {
      ...bad('without a tenant, though bound to one', good, 400, 'MISSING_TENANT'),
      headers: { 'X-API-Key': good, 'X-Tenant-Id': undefined },
    },
    {
      ...bad('and a token that does not agree', good),
      headers: { 'X-API-Key': good, Authorization: `Bearer ${issued.tokenOfGlobex}` },
    },
    {
      ...bad('good, and a token that is not', good),
      headers: { 'X-API-Key': good, Authorization: 'Bearer x' },
    },
    {
      ...bad('that is not good, and a token that is', 'x'),
      headers: { 'X-API-Key': 'x', Authorization: `Bearer ${issued.token}` },
    },
  ];
}

function signedBy(key: KeyObject, header: Json, claims: Json): string {
  const text = `${encode(header)}.${encode(claims)}`;
  return `${text}.${sign(null, Buffer.from(text), key).toString('base64url')}`;
}

function decode(part: string): Json {
  return JSON.parse(Buffer.from(part, 'base64url').toString()) as Json;
}

function encode(value: Json): string {
  return Buffer.from(JSON.stringify(value)).toString('base64url');
}
