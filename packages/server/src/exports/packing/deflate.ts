// Packs a text piece by piece. Behind each piece the compressor starts afresh and ends on a whole byte, so pieces that were packed by
// different processes, one after the other, are together the same bytes as if one had packed them all.

import { promisify } from 'node:util';
import { constants, crc32, deflateRaw } from 'node:zlib';

/** What is known of the pieces so far. */
export interface Packed {
  readonly rawBytes: number;
  readonly crc: number;
}

export const NOTHING_PACKED: Packed = { rawBytes: 0, crc: 0 };

/** An empty block that says it is the last. */
export const DEFLATE_END: Uint8Array = Uint8Array.of(3, 0);

const deflate = promisify<Uint8Array, object, Buffer>(deflateRaw);
/** A higher one makes audit events a tenth smaller, and takes twice the time. */
const LEVEL = 1;

export function packedWith({ rawBytes, crc }: Packed, piece: Uint8Array): Packed {
  return { rawBytes: rawBytes + piece.length, crc: crc32(piece, crc) };
}

export async function deflated(piece: Uint8Array): Promise<Uint8Array> {
  if (piece.length === 0) return piece;
  return deflate(piece, { level: LEVEL, finishFlush: constants.Z_FULL_FLUSH });
}
