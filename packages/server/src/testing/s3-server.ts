// A bucket of S3 on loopback, as strict as the real one: it checks the signature of each request by its own reckoning, the hash of each
// body and the checksum of each part, wants parts of 5 MB, and shows an object only when its upload is complete.

import { createHash, createHmac } from 'node:crypto';
import { createServer, type IncomingMessage, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';

const ACCESS_KEY = 'AKIATESTTESTTEST';
const SECRET_KEY = 'a secret/of+the test';
const REGION = 'eu-central-1';
const BUCKET = 'audit-files';
const PART_BYTES_MIN = 5 * 1024 * 1024;

interface Upload {
  readonly key: string;
  readonly parts: Map<number, Buffer>;
}

interface Asked {
  readonly method: string;
  readonly url: URL;
  readonly request: IncomingMessage;
  readonly body: Buffer;
}

type Answered = readonly [status: number, body?: string, headers?: Record<string, string>];

export class S3Server implements AsyncDisposable {
  readonly objects = new Map<string, Buffer>();
  readonly uploads = new Map<string, Upload>();
  /** Parts that came, by number. */
  readonly sentParts: number[] = [];
  /** The connection ends in the middle of this part, so often: a client may send it twice by itself. */
  cutsPart: number | undefined;
  cutsLeft = 2;
  /** Answered to all, once for each. */
  readonly nextErrors: Answered[] = [];
  isHanging = false;
  /** Hangs as soon as this part has come, and forgets it. */
  hangsAtPart: number | undefined;
  readonly #server: Server;
  readonly #now: () => number;
  #made = 0;

  private constructor(now: () => number) {
    this.#now = now;
    this.#server = createServer((request, response) => {
      const chunks: Buffer[] = [];
      const url = new URL(request.url!, 'http://s3.test');
      const part = Number(url.searchParams.get('partNumber') ?? 0);
      request.on('data', (chunk: Buffer) => {
        chunks.push(chunk);
        if (part > 0 && part === this.cutsPart && this.cutsLeft > 0) {
          this.cutsLeft--;
          request.socket.destroy();
        }
      });
      request.on('error', () => undefined);
      request.on('end', () => {
        if (part > 0 && part === this.hangsAtPart) this.isHanging = true;
        if (this.isHanging) return;
        const asked = { method: request.method!, url, request, body: Buffer.concat(chunks) };
        const [status, body = '', headers = {}] = this.#answer(asked);
        response.writeHead(status, { 'content-type': 'application/xml', ...headers }).end(body);
      });
    });
  }

  /** `now`: for a service whose clock leaps. */
  static async start(now: () => number = Date.now): Promise<S3Server> {
    const s3 = new S3Server(now);
    await new Promise<void>((resolve) => s3.#server.listen(0, '127.0.0.1', resolve));
    return s3;
  }

  destination(more: object = {}): object {
    return {
      type: 'ObjectStorage',
      provider: 'S3',
      endpoint: `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`,
      region: REGION,
      bucket: BUCKET,
      prefix: 'exports/of ana & co/',
      accessKeyId: ACCESS_KEY,
      secretAccessKey: SECRET_KEY,
      ...more,
    };
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#server.closeAllConnections();
    await new Promise((resolve) => this.#server.close(resolve));
  }

  #answer(asked: Asked): Answered {
    const next = this.nextErrors.shift();
    if (next !== undefined) return next;
    const refusal = refusalOf(asked, this.#now());
    if (refusal !== undefined) return refusal;
    const { method, url, body } = asked;
    const [, bucket, ...rest] = url.pathname.split('/').map(decodeURIComponent);
    if (bucket !== BUCKET) return error(404, 'NoSuchBucket');
    const key = rest.join('/');
    const query = url.searchParams;
    const uploadId = query.get('uploadId');
    if (key === '' && query.has('uploads')) return this.#uploadsOf(query.get('prefix') ?? '');
    if (method === 'POST' && query.has('uploads')) return this.#begin(key);
    if (method === 'PUT' && uploadId !== null)
      return this.#part(uploadId, Number(query.get('partNumber')), body);
    if (method === 'GET' && uploadId !== null) return this.#partsOf(uploadId);
    if (method === 'POST' && uploadId !== null) return this.#complete(uploadId, String(body));
    if (method !== 'PUT') return error(405, 'MethodNotAllowed');
    this.objects.set(key, body);
    return [200, '', { etag: etagOf(body) }];
  }

  #uploadsOf(prefix: string): Answered {
    const found = [...this.uploads].filter(([, { key }]) => key.startsWith(prefix));
    const inside = found.map(
      ([id, { key }], i) =>
        `<Upload><Key>${escaped(key)}</Key><UploadId>${id}</UploadId><Initiated>2026-01-01T00:00:0${i}.000Z</Initiated></Upload>`,
    );
    return [200, `<ListMultipartUploadsResult>${inside.join('')}</ListMultipartUploadsResult>`];
  }

  #begin(key: string): Answered {
    const id = `upload-${++this.#made}`;
    this.uploads.set(id, { key, parts: new Map() });
    const inside = `<Bucket>${BUCKET}</Bucket><Key>${escaped(key)}</Key><UploadId>${id}</UploadId>`;
    return [200, `<InitiateMultipartUploadResult>${inside}</InitiateMultipartUploadResult>`];
  }

  #part(id: string, number: number, body: Buffer): Answered {
    const upload = this.uploads.get(id);
    if (upload === undefined) return error(404, 'NoSuchUpload');
    this.sentParts.push(number);
    upload.parts.set(number, body);
    return [200, '', { etag: etagOf(body) }];
  }

  #partsOf(id: string): Answered {
    const upload = this.uploads.get(id);
    if (upload === undefined) return error(404, 'NoSuchUpload');
    const inside = [...upload.parts].map(
      ([number, body]) =>
        `<Part><PartNumber>${number}</PartNumber><ETag>${escaped(etagOf(body))}</ETag><Size>${body.length}</Size><ChecksumSHA256>${sha256(body, 'base64')}</ChecksumSHA256></Part>`,
    );
    return [200, `<ListPartsResult><IsTruncated>false</IsTruncated>${inside.join('')}</ListPartsResult>`];
  }

  #complete(id: string, body: string): Answered {
    const upload = this.uploads.get(id);
    if (upload === undefined) return error(404, 'NoSuchUpload');
    const named = [
      ...body.matchAll(
        /<Part><PartNumber>(\d+)<\/PartNumber><ETag>(.*?)<\/ETag><ChecksumSHA256>(.*?)<\/ChecksumSHA256><\/Part>/g,
      ),
    ];
    const bodies: Buffer[] = [];
    for (const [i, [, number, etag, checksum]] of named.entries()) {
      const part = upload.parts.get(Number(number));
      if (
        part === undefined ||
        etag !== etagOf(part).replaceAll('"', '&#34;') ||
        checksum !== sha256(part, 'base64')
      )
        return error(400, 'InvalidPart');
      if (Number(number) !== i + 1) return error(400, 'InvalidPartOrder');
      if (i < named.length - 1 && part.length < PART_BYTES_MIN) return error(400, 'EntityTooSmall');
      bodies.push(part);
    }
    this.uploads.delete(id);
    this.objects.set(upload.key, Buffer.concat(bodies));
    return [
      200,
      `<CompleteMultipartUploadResult><Key>${escaped(upload.key)}</Key></CompleteMultipartUploadResult>`,
    ];
  }
}

function refusalOf({ method, url, request: { headers }, body }: Asked, nowMs: number): Answered | undefined {
  const [, accessKey, date, region, names = '', signature] =
    /^AWS4-HMAC-SHA256 Credential=([^/]+)\/(\d{8})\/([^/]+)\/s3\/aws4_request, SignedHeaders=([^,]+), Signature=([0-9a-f]{64})$/.exec(
      headers.authorization ?? '',
    ) ?? [];
  if (accessKey !== ACCESS_KEY) return error(403, 'InvalidAccessKeyId');
  if (region !== REGION) return error(400, 'AuthorizationHeaderMalformed');
  const signed = names.split(';');
  const unsigned = Object.keys(headers).filter((name) => name.startsWith('x-amz-') && !signed.includes(name));
  if (unsigned.length > 0 || !signed.includes('host')) return error(403, 'AccessDenied');
  const time = String(headers['x-amz-date']);
  if (Math.abs(Date.parse(time.replace(/^(....)(..)(..T..)(..)/, '$1-$2-$3:$4:')) - nowMs) > 900_000)
    return error(403, 'RequestTimeTooSkewed');
  const hash = String(headers['x-amz-content-sha256']);
  const lines = signed.map((name) => `${name}:${String(headers[name])}\n`).join('');
  const query = url.search.slice(1).split('&').toSorted().join('&');
  const canonical = `${method}\n${url.pathname}\n${query}\n${lines}\n${names}\n${hash}`;
  const toSign = `AWS4-HMAC-SHA256\n${time}\n${date}/${region}/s3/aws4_request\n${sha256(canonical, 'hex')}`;
  let key: string | Buffer = `AWS4${SECRET_KEY}`;
  for (const text of [date!, region, 's3', 'aws4_request', toSign])
    key = createHmac('sha256', key).update(text).digest();
  if ((key as Buffer).toString('hex') !== signature) return error(403, 'SignatureDoesNotMatch');
  if (hash !== sha256(body, 'hex')) return error(400, 'XAmzContentSHA256Mismatch');
  const checksum = headers['x-amz-checksum-sha256'];
  if (method === 'PUT' && checksum !== sha256(body, 'base64')) return error(400, 'BadDigest');
  return undefined;
}

function error(status: number, code: string): Answered {
  return [status, `<?xml version="1.0"?><Error><Code>${code}</Code><Message>of the test</Message></Error>`];
}

function sha256(bytes: Buffer | string, form: 'hex' | 'base64'): string {
  return createHash('sha256').update(bytes).digest(form);
}

function etagOf(body: Buffer): string {
  return `"${createHash('md5').update(body).digest('hex')}"`;
}

function escaped(text: string): string {
  return text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('"', '&quot;');
}
