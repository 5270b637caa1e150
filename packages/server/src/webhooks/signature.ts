// The three signatures of a delivery. The one in the header covers the exact bytes that are sent. The one in the body cannot cover itself,
// so it covers the RFC 8785 form of the body without it; the body is sent in that form. Libraries for Standard Webhooks verify the third.

import { createHmac, createSecretKey, type KeyObject } from 'node:crypto';
import { canonicalJson, toHex } from '@tallystick/evidence';

/** One secret, or two during a grace period; the newest first. */
export type Secrets = readonly [string, ...string[]];

/** `texts`: the members by name, each in its RFC 8785 form; without `signature`. */
export function signedBody(texts: Readonly<Record<string, string>>, [secret]: Secrets): string {
  const before = membersOf(texts, (name) => name < SIGNATURE_MEMBER);
  const behind = membersOf(texts, (name) => name > SIGNATURE_MEMBER);
  const signature = signatureOf(`{${[...before, ...behind].join(',')}}`, secret);
  const own = `${canonicalJson(SIGNATURE_MEMBER)}:${canonicalJson(signature)}`;
  return `{${[...before, own, ...behind].join(',')}}`;
}

export function signatureOf(text: string | Uint8Array, secret: string): string {
  return `sha256=${toHex(createHmac('sha256', keysOf(secret).plain).update(text).digest())}`;
}

const SIGNATURE_MEMBER = 'signature';

/** The names of headers that hold signatures. */
export const SIGNATURE = /signature/i;

/** The headers with signatures, over the body as it is sent. */
export function signatureHeaders(
  webhookId: string,
  atMs: number,
  body: Uint8Array,
  secrets: Secrets,
): Record<string, string> {
  const [secret, previous] = secrets;
  const seconds = String(Math.floor(atMs / 1000));
  const standard = secrets.map((each) => `v1,${standardSignature(webhookId, seconds, body, each)}`);
  return {
    'X-Audit-Signature': signatureOf(body, secret),
    ...(previous !== undefined && { 'X-Audit-Signature-Previous': signatureOf(body, previous) }),
    'webhook-id': webhookId,
    'webhook-timestamp': seconds,
    'webhook-signature': standard.join(' '),
  };
}

function standardSignature(id: string, seconds: string, body: Uint8Array, secret: string): string {
  return createHmac('sha256', keysOf(secret).standard)
    .update(`${id}.${seconds}.`)
    .update(body)
    .digest('base64');
}

/** Something must follow the prefix: with an empty key anybody could sign. */
const IN_BASE64 = /^whsec_((?=.)(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?)$/;

interface Keys {
  readonly plain: KeyObject;
  /** The libraries decode the part behind `whsec_` as base64. */
  readonly standard: KeyObject;
}

/** Making a key costs more than signing with it. */
const known = new Map<string, Keys>();
const KEYS_MAX = 2000;

function keysOf(secret: string): Keys {
  let keys = known.get(secret);
  if (keys === undefined) {
    if (known.size >= KEYS_MAX) known.clear();
    const encoded = IN_BASE64.exec(secret)?.[1];
    const standard = Buffer.from(encoded ?? secret, encoded === undefined ? 'utf8' : 'base64');
    keys = { plain: createSecretKey(secret, 'utf8'), standard: createSecretKey(standard) };
    known.set(secret, keys);
  }
  return keys;
}

/** RFC 8785 orders members by the code units of their names. */
function membersOf(texts: Readonly<Record<string, string>>, isHere: (name: string) => boolean): string[] {
  const names = Object.keys(texts)
    .filter(isHere)
    .sort((a, b) => (a < b ? -1 : 1));
  return names.map((name) => `${canonicalJson(name)}:${texts[name]!}`);
}
