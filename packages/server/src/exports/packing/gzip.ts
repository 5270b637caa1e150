// The frame of a gzip file (RFC 1952) with one member, around deflated pieces.

import { DEFLATE_END, type Packed } from './deflate.ts';

/** Without a name and a time: the file depends on its content alone. */
export const GZIP_BEGIN: Uint8Array = Uint8Array.of(0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 255);

export function gzipEnd({ rawBytes, crc }: Packed): Uint8Array {
  const trailer = Buffer.alloc(8);
  trailer.writeUInt32LE(crc, 0);
  trailer.writeUInt32LE(rawBytes % 2 ** 32, 4);
  return Buffer.concat([DEFLATE_END, trailer]);
}
