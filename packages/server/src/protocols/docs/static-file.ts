// A file that is the same for everybody: it is compressed once for each coding, and well, since it is read often.

import { promisify } from 'node:util';
import { brotliCompress, constants, gzip } from 'node:zlib';
import type { Coding } from '../http/coding.ts';

export interface StaticFile {
  readonly contentType: string;
  readonly plain: Buffer;
  readonly encoded: (coding: Coding) => Promise<Buffer>;
}

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
