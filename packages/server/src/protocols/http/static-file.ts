// Files that are the same for everybody: each is made when it is first asked for, and compressed once for each coding, and well,
// since it is read often.

import { promisify } from 'node:util';
import { brotliCompress, constants, gzip } from 'node:zlib';
import { AuditError } from '@tallystick/contract';
import { type Coding, codingFor } from './coding.ts';
import { entityTagOf, namesTag } from './conditional.ts';
import type { Exchange, Reply } from './mount.ts';
import { header } from './request-headers.ts';

export interface StaticFile {
  readonly contentType: string;
  readonly plain: Buffer;
  readonly encoded: (coding: Coding) => Promise<Buffer>;
}

/** The content of a file, made when it is first asked for. */
export type Files = ReadonlyMap<string, () => Promise<StaticFile>>;

const brotli = promisify(brotliCompress);
const gzipped = promisify<Buffer, Buffer>(gzip);

export function packed(contentType: string, content: string | Uint8Array): StaticFile {
  const plain = Buffer.from(content);
  const kept = new Map<Coding, Promise<Buffer>>();
  return {
    contentType,
    plain,
    encoded(coding) {
      const found = kept.get(coding);
      if (found !== undefined) return found;
      const made =
        coding === 'br' ? brotli(plain, { params: { [constants.BROTLI_PARAM_QUALITY]: 6 } }) : gzipped(plain);
      kept.set(coding, made);
      return made;
    },
  };
}

/** Serves the file at the path of the request, without a credential. */
export const serving =
  (files: Files) =>
  async ({ request, path }: Pick<Exchange, 'request' | 'path'>): Promise<Reply> => {
    const { method = '' } = request;
    const file = method === 'GET' || method === 'HEAD' ? files.get(path) : undefined;
    if (file === undefined)
      throw new AuditError('ROUTE_NOT_FOUND', `There is no ${method} ${path.slice(0, 200)}.`);
    const { contentType, plain, encoded } = await file();
    const coding = codingFor(header(request.headers, 'accept-encoding'), plain.length);
    const body = coding === undefined ? plain : await encoded(coding);
    const etag = entityTagOf(plain, coding);
    const headers = { ETag: etag, 'Cache-Control': 'no-cache' };
    if (namesTag(request.headers['if-none-match'], etag))
      return { status: 304, headers, body: undefined, coding: undefined };
    return {
      status: 200,
      headers: {
        ...headers,
        'Content-Type': contentType,
        ...(coding !== undefined && { 'Content-Encoding': coding }),
      },
      body,
      coding: undefined,
    };
  };

/** The first result is kept; a failure is tried again. */
export function once<T>(make: () => T | Promise<T>): () => Promise<T> {
  let made: Promise<T> | undefined;
  return () => {
    made ??= Promise.resolve()
      .then(make)
      .catch((error: unknown) => {
        made = undefined;
        throw error;
      });
    return made;
  };
}
