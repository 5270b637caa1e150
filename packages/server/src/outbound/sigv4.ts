// Signatures of AWS, version 4, for requests to S3:
//
//   canonical = method ‖ LF ‖ path ‖ LF ‖ query ‖ LF ‖ headers ‖ LF ‖ names of headers ‖ LF ‖ hex( SHA-256( body ) )
//   toSign    = "AWS4-HMAC-SHA256" ‖ LF ‖ time ‖ LF ‖ scope ‖ LF ‖ hex( SHA-256( canonical ) )
//   scope     = date ‖ "/" ‖ region ‖ "/s3/aws4_request"

import { createHash } from 'node:crypto';
import { hmacSha256 } from '../runtime/hmac.ts';

export interface AwsCredentials {
  readonly accessKeyId: string;
  readonly secretAccessKey: string;
  readonly region: string;
}

export interface ToSign {
  readonly method: string;
  readonly url: URL;
  readonly headers?: Readonly<Record<string, string>>;
  /** SHA-256 of the body, in hex. */
  readonly bodyHash: string;
  readonly nowMs: number;
}

const ALGORITHM = 'AWS4-HMAC-SHA256';

/** All headers of the request, the signature included; `Host` is that of the URL. */
export function signS3(
  { method, url, headers = {}, bodyHash, nowMs }: ToSign,
  { accessKeyId, secretAccessKey, region }: AwsCredentials,
): Record<string, string> {
  const time = new Date(nowMs).toISOString().replace(/[-:]|\.\d+/g, '');
  const sent: Record<string, string> = {
    ...headers,
    'x-amz-content-sha256': bodyHash,
    'x-amz-date': time,
  };
  const signed = Object.entries({ ...sent, host: url.host })
    .map(([name, value]) => [name.toLowerCase(), value.trim()] as const)
    .toSorted(([a], [b]) => (a < b ? -1 : 1));
  const names = signed.map(([name]) => name).join(';');
  const lines = signed.map(([name, value]) => `${name}:${value}\n`).join('');
  const canonical = [method, url.pathname, queryOf(url), lines, names, bodyHash].join('\n');
  const date = time.slice(0, 8);
  const scope = `${date}/${region}/s3/aws4_request`;
  const toSign = [ALGORITHM, time, scope, sha256Hex(canonical)].join('\n');
  const key = [date, region, 's3', 'aws4_request'].reduce<Buffer>(
    (last, text) => hmacSha256(last, text),
    Buffer.from(`AWS4${secretAccessKey}`),
  );
  const signature = hmacSha256(key, toSign).toString('hex');
  const authorization = `${ALGORITHM} Credential=${accessKeyId}/${scope}, SignedHeaders=${names}, Signature=${signature}`;
  return { ...sent, authorization };
}

/** All but what no URI needs to have encoded. */
export function uriEncoded(text: string): string {
  return encodeURIComponent(text).replace(
    /[!'()*]/g,
    (found) => `%${found.charCodeAt(0).toString(16).toUpperCase()}`,
  );
}

/** The URL must have been made with `uriEncoded`. */
function queryOf({ search }: URL): string {
  return search
    .slice(1)
    .split('&')
    .filter((pair) => pair !== '')
    .map((pair) => (pair.includes('=') ? pair : `${pair}=`))
    .toSorted()
    .join('&');
}

export function sha256Hex(bytes: string | Uint8Array): string {
  return createHash('sha256').update(bytes).digest('hex');
}
