// Compressed answers, for callers that ask for them by `Accept-Encoding` (RFC 9110, 12.5.3) and answers that are
// worth it. The work is done off the main thread, unless the way to another one would take longer than the work.

import { promisify } from 'node:util';
import { brotliCompress, brotliCompressSync, constants, gzip, gzipSync } from 'node:zlib';

export type Coding = 'br' | 'gzip';

/** Below this, headers and packets weigh more than what could be saved. */
const LENGTH_MIN = 1024;

/**
 * The preferred coding of those that both sides know; undefined: as it is. So it stays where the caller prefers that, and where it
 * refuses that but knows no coding of ours, for a preference that cannot be met is ignored.
 */
export function codingFor(acceptEncoding: string | undefined, length: number): Coding | undefined {
  if (acceptEncoding === undefined || length < LENGTH_MIN) return undefined;
  const br = weightOf('br', acceptEncoding);
  const gz = weightOf('gzip', acceptEncoding);
  const best = Math.max(br, gz);
  if (best === 0 || weightOf('identity', acceptEncoding) > best) return undefined;
  return br >= gz ? 'br' : 'gzip';
}

const ELEMENT = /^\s*([\w*-]+)\s*(?:;\s*q\s*=\s*(0(?:\.\d{0,3})?|1(?:\.0{0,3})?)\s*)?$/i;

/** A malformed element is ignored; `*` stands for all codings that are not named. Identity need not be named to be acceptable. */
function weightOf(coding: Coding | 'identity', acceptEncoding: string): number {
  let others = 0;
  for (const element of acceptEncoding.split(',')) {
    const [, name = '', weight = '1'] = ELEMENT.exec(element) ?? [];
    if (name.toLowerCase() === coding || (coding === 'gzip' && name.toLowerCase() === 'x-gzip'))
      return Number(weight);
    if (name === '*' && coding !== 'identity') others = Number(weight);
  }
  return others;
}

const brotliAsync = promisify(brotliCompress);
const gzipAsync = promisify<Buffer, Parameters<typeof gzip>[1], Buffer>(gzip);

/** The fastest settings: an answer is read once, and better ones save a tenth of what these do not. */
const BROTLI = {
  params: { [constants.BROTLI_PARAM_QUALITY]: 1, [constants.BROTLI_PARAM_MODE]: constants.BROTLI_MODE_TEXT },
};
const GZIP = { level: 1 };
/** So many bytes take a tenth of a millisecond; another thread is reached, and has answered, after three times that. */
const AT_ONCE_BYTES_MAX = 16 * 1024;

export function encode(coding: Coding, text: string): Buffer | Promise<Buffer> {
  const bytes = Buffer.from(text);
  if (bytes.length > AT_ONCE_BYTES_MAX)
    return coding === 'br' ? brotliAsync(bytes, BROTLI) : gzipAsync(bytes, GZIP);
  return coding === 'br' ? brotliCompressSync(bytes, BROTLI) : gzipSync(bytes, GZIP);
}
