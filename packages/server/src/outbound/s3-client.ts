// Requests to a bucket of S3, signed and over the guarded client; and what its answers mean.

import { createHash } from 'node:crypto';
import type { ObjectStorageDestination } from '../exports/export-target.ts';
import { DeliveryError } from './delivery-error.ts';
import type { Clock } from '../runtime/clock.ts';
import { OutboundError } from './http/outbound-error.ts';
import type { OutboundAnswer, OutboundHttp } from './http/outbound-http.ts';
import { sha256Hex, signS3, uriEncoded } from './sigv4.ts';

export interface S3Parts {
  readonly http: Pick<OutboundHttp, 'judge' | 'send'>;
  readonly clock: Pick<Clock, 'now'>;
  /** For a request with a whole part. */
  readonly timeoutMs?: number;
}

export interface S3Request {
  readonly method: 'GET' | 'POST' | 'PUT';
  /** Undefined: of the bucket. */
  readonly key?: string;
  readonly query?: Readonly<Record<string, string>>;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: Uint8Array | string;
  readonly signal: AbortSignal;
}

export interface S3Answer {
  readonly status: number;
  readonly etag: string | undefined;
  readonly text: string;
  /** Of an error. */
  readonly code: string | undefined;
}

const TIMEOUT_MS = 120_000;
/** A list of a thousand parts has a quarter of it. */
const ANSWER_BYTES_MAX = 2 * 1024 * 1024;
/** Another attempt gets the same answer. */
const FINAL: readonly number[] = [301, 307, 308, 400, 403, 404, 405];
/** Of those, what may pass. */
const PASSING = /^(RequestTimeout|RequestTimeTooSkewed|BadDigest|IncompleteBody|NoSuchUpload)$/;

export class S3Client {
  readonly #destination: ObjectStorageDestination;
  readonly #parts: S3Parts;

  constructor(destination: ObjectStorageDestination, parts: S3Parts) {
    this.#destination = destination;
    this.#parts = parts;
  }

  /** Any answer; rejects with DeliveryError where there is none. */
  async ask({ method, key, query = {}, headers, body = '', signal }: S3Request): Promise<S3Answer> {
    const { http, clock, timeoutMs = TIMEOUT_MS } = this.#parts;
    const url = urlOf(this.#destination, key, query);
    const toSign = { method, url, bodyHash: sha256Hex(body), nowMs: clock.now() };
    const signed = signS3({ ...toSign, ...(headers && { headers }) }, this.#destination);
    try {
      const answer = await http.send({
        url: url.href,
        method,
        headers: signed,
        body,
        answerBytesMax: ANSWER_BYTES_MAX,
        timeoutMs,
        signal,
      });
      return read(answer);
    } catch (error) {
      throw error instanceof OutboundError ? connectFault(error) : error;
    }
  }

  /** Rejects with DeliveryError where it is refused. */
  async succeed(request: S3Request): Promise<S3Answer> {
    const answer = await this.ask(request);
    // Of some requests the outcome stands in the body of a 200.
    if (answer.status === 200 && answer.code === undefined) return answer;
    throw refusalOf(answer);
  }
}

export function endpointOf({ endpoint, region, bucket }: ObjectStorageDestination): string {
  if (endpoint !== undefined) return `${new URL(endpoint).origin}/${bucket}`;
  const domain = region.startsWith('cn-') ? 'amazonaws.com.cn' : 'amazonaws.com';
  // Certificates are for one label before it.
  return bucket.includes('.')
    ? `https://s3.${region}.${domain}/${bucket}`
    : `https://${bucket}.s3.${region}.${domain}`;
}

export function sha256Base64(bytes: Uint8Array): string {
  return createHash('sha256').update(bytes).digest('base64');
}

function urlOf(
  destination: ObjectStorageDestination,
  key: string | undefined,
  query: Readonly<Record<string, string>>,
): URL {
  const path = key === undefined ? '' : key.split('/').map(uriEncoded).join('/');
  const pairs = Object.entries(query).map(([name, value]) => `${uriEncoded(name)}=${uriEncoded(value)}`);
  const search = pairs.length === 0 ? '' : `?${pairs.toSorted().join('&')}`;
  return new URL(`${endpointOf(destination)}/${path}${search}`);
}

function read({ status, headers, body }: OutboundAnswer): S3Answer {
  const text = new TextDecoder().decode(body);
  const isError = /<Error>/.test(text.slice(0, 1000));
  const code = isError ? (/<Code>([A-Za-z0-9.]{1,100})<\/Code>/.exec(text)?.[1] ?? 'Unknown') : undefined;
  return { status, etag: headers.etag, text, code };
}

export function refusalOf({ status, code }: S3Answer): DeliveryError {
  const said = code === undefined ? `${status}` : `${status} ${code}`;
  const isFinal = FINAL.includes(status) && !PASSING.test(code ?? '');
  if (status === 403)
    return new DeliveryError('AuthenticationFailed', `the object storage refuses the credentials: ${said}`, {
      isFinal,
    });
  return new DeliveryError('DestinationRefused', `the object storage answered ${said}`, { isFinal });
}

function connectFault(cause: OutboundError): DeliveryError {
  const { fault, message } = cause;
  if (fault === 'NotAllowed') return new DeliveryError('NotAllowed', message, { isFinal: true, cause });
  return new DeliveryError(fault === 'Timeout' ? 'Timeout' : 'Unreachable', message, { cause });
}
