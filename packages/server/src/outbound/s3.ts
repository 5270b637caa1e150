// Sends files to object storage that speaks S3. A small file is one request; others are uploads of parts, which nobody sees as a file
// before all of them are there. An upload that broke off goes on: parts that are there with the same checksum are not sent again.

import type { ExportTarget, ObjectStorageDestination, Sending } from '../exports/export-target.ts';
import { DeliveryError, sentBy } from './delivery-error.ts';
import { endpointOf, refusalOf, S3Client, type S3Parts, sha256Base64 } from './s3-client.ts';

const MB = 1024 * 1024;
/** Parts of S3 have at least 5 MB, and there are at most 10,000 of them. */
const PART_BYTES = 8 * MB;
const PARTS_MAX = 10_000;

type S3Sending = Sending<ObjectStorageDestination>;

interface Part {
  readonly number: number;
  readonly etag: string;
  readonly checksum: string;
  readonly size: number;
}

export function createS3Target(parts: S3Parts): ExportTarget<ObjectStorageDestination> {
  return {
    async judge(destination) {
      const issue = await parts.http.judge(`${endpointOf(destination)}/`);
      return issue === undefined ? undefined : { field: 'endpoint', issue };
    },
    send: (sending) => sentBy(() => send(sending, parts)),
  };
}

async function send(sending: S3Sending, parts: S3Parts): Promise<string> {
  const { destination, fileName, byteLength } = sending;
  const key = `${destination.prefix ?? ''}${fileName}`;
  const client = new S3Client(destination, parts);
  if (byteLength <= PART_BYTES) await sendWhole(client, key, sending);
  else await new Upload(client, key, sending).run();
  return `s3://${destination.bucket}/${key}`;
}

async function sendWhole(client: S3Client, key: string, sending: S3Sending): Promise<void> {
  const { byteLength, mediaType, signal, onProgress } = sending;
  const body = await bytesOf(sending, 0, byteLength);
  const headers = { 'content-type': mediaType, 'x-amz-checksum-sha256': sha256Base64(body) };
  await client.succeed({ method: 'PUT', key, headers, body, signal });
  await onProgress(byteLength);
}

class Upload {
  readonly #client: S3Client;
  readonly #key: string;
  readonly #sending: S3Sending;

  constructor(client: S3Client, key: string, sending: S3Sending) {
    this.#client = client;
    this.#key = key;
    this.#sending = sending;
  }

  async run(): Promise<void> {
    const { byteLength, onProgress } = this.#sending;
    const partBytes = Math.max(PART_BYTES, Math.ceil(byteLength / PARTS_MAX / MB) * MB);
    const begun = await this.#begun();
    const uploadId = begun ?? (await this.#begin());
    const there = begun === undefined ? new Map<number, Part>() : await this.#partsOf(uploadId);
    const done: Part[] = [];
    for (let at = 0, number = 1; at < byteLength; at += partBytes, number++) {
      const end = Math.min(at + partBytes, byteLength);
      const bytes = await bytesOf(this.#sending, at, end);
      const checksum = sha256Base64(bytes);
      const old = there.get(number);
      const isThere = old?.checksum === checksum && old.size === bytes.length;
      done.push(isThere ? old : await this.#send(uploadId, number, bytes, checksum));
      await onProgress(end);
    }
    await this.#complete(uploadId, done);
  }

  /** The newest upload of this file that was not completed. Credentials that must not list them begin a new one. */
  async #begun(): Promise<string | undefined> {
    const query = { uploads: '', prefix: this.#key };
    const answer = await this.#client.ask({ method: 'GET', query, signal: this.#sending.signal });
    if (answer.status === 403 && answer.code === 'AccessDenied') return undefined;
    if (answer.status !== 200) throw refusalOf(answer);
    const uploads = elements(answer.text, 'Upload')
      .filter((each) => textIn(each, 'Key') === this.#key)
      .map((each) => ({ id: textIn(each, 'UploadId'), at: textIn(each, 'Initiated') ?? '' }))
      .toSorted((a, b) => (a.at < b.at ? 1 : -1));
    return uploads[0]?.id;
  }

  async #begin(): Promise<string> {
    const { mediaType, signal } = this.#sending;
    const headers = { 'content-type': mediaType, 'x-amz-checksum-algorithm': 'SHA256' };
    const { text } = await this.#client.succeed({
      method: 'POST',
      key: this.#key,
      query: { uploads: '' },
      headers,
      signal,
    });
    return textIn(text, 'UploadId') ?? notUnderstood();
  }

  async #partsOf(uploadId: string): Promise<Map<number, Part>> {
    const found = new Map<number, Part>();
    let marker = '0';
    for (;;) {
      const query = { uploadId, 'part-number-marker': marker };
      const request = { method: 'GET', key: this.#key, query, signal: this.#sending.signal } as const;
      const { text } = await this.#client.succeed(request);
      for (const each of elements(text, 'Part')) {
        const number = Number(textIn(each, 'PartNumber'));
        const [etag = '', checksum = ''] = [textIn(each, 'ETag'), textIn(each, 'ChecksumSHA256')];
        found.set(number, { number, etag, checksum, size: Number(textIn(each, 'Size')) });
      }
      const next = textIn(text, 'NextPartNumberMarker');
      if (textIn(text, 'IsTruncated') !== 'true' || next === undefined || Number(next) <= Number(marker))
        return found;
      marker = next;
    }
  }

  async #send(uploadId: string, number: number, body: Uint8Array, checksum: string): Promise<Part> {
    const { etag } = await this.#client.succeed({
      method: 'PUT',
      key: this.#key,
      query: { partNumber: String(number), uploadId },
      headers: { 'x-amz-checksum-sha256': checksum },
      body,
      signal: this.#sending.signal,
    });
    return { number, etag: etag ?? notUnderstood(), checksum, size: body.length };
  }

  async #complete(uploadId: string, parts: readonly Part[]): Promise<void> {
    const inside = parts.map(
      ({ number, etag, checksum }) =>
        `<Part><PartNumber>${number}</PartNumber><ETag>${escaped(etag)}</ETag><ChecksumSHA256>${checksum}</ChecksumSHA256></Part>`,
    );
    const namespace = 'http://s3.amazonaws.com/doc/2006-03-01/';
    await this.#client.succeed({
      method: 'POST',
      key: this.#key,
      query: { uploadId },
      headers: { 'content-type': 'application/xml' },
      body: `<CompleteMultipartUpload xmlns="${namespace}">${inside.join('')}</CompleteMultipartUpload>`,
      signal: this.#sending.signal,
    });
  }
}

async function bytesOf({ read }: S3Sending, from: number, end: number): Promise<Buffer> {
  const chunks: Uint8Array[] = [];
  for await (const chunk of read(from, end)) chunks.push(chunk);
  return Buffer.concat(chunks);
}

/** Answers of S3 are flat lists: elements of one name are never in one another. */
function elements(xml: string, name: string): string[] {
  return [...xml.matchAll(new RegExp(`<${name}>([\\s\\S]*?)</${name}>`, 'g'))].map(
    ([, inside = '']) => inside,
  );
}

const ENTITIES: Readonly<Record<string, string>> = { amp: '&', lt: '<', gt: '>', quot: '"', apos: "'" };

function textIn(xml: string, name: string): string | undefined {
  const found = new RegExp(`<${name}>([^<]*)</${name}>`).exec(xml)?.[1];
  return found?.replace(/&(?:#(\d{1,7})|#x([0-9a-f]{1,6})|(\w+));/gi, (whole, decimal, hex, named) => {
    if (named !== undefined) return ENTITIES[String(named)] ?? whole;
    return String.fromCodePoint(decimal === undefined ? Number.parseInt(String(hex), 16) : Number(decimal));
  });
}

function escaped(text: string): string {
  return text.replace(/[&<>"]/g, (found) => `&#${found.charCodeAt(0)};`);
}

function notUnderstood(): never {
  throw new DeliveryError('DestinationRefused', 'the object storage gives an answer that is none of S3');
}
