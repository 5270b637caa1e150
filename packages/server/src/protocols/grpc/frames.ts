// The frames of gRPC: a byte of flags, the length in four bytes, the message. A single message is one frame; what is compressed
// is unpacked no further than its limit.

import { promisify } from 'node:util';
import { gunzip } from 'node:zlib';
import { AuditError } from '@tallystick/contract';

export const FRAME_HEAD_BYTES = 5;

export const COMPRESSED = 1;
/** The end of a stream of Connect. */
export const END_STREAM = 2;
/** The trailers of gRPC-Web. */
export const TRAILERS = 0x80;

const unzip = promisify(gunzip);

export function frame(flags: number, message: Uint8Array): Buffer {
  const bytes = Buffer.allocUnsafe(FRAME_HEAD_BYTES + message.length);
  bytes[0] = flags;
  bytes.writeUInt32BE(message.length, 1);
  bytes.set(message, FRAME_HEAD_BYTES);
  return bytes;
}

export interface Frame {
  readonly flags: number;
  readonly message: Uint8Array;
}

/** The one frame of a body. */
export function onlyFrame(bytes: Uint8Array): Frame {
  const view = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  if (view.length < FRAME_HEAD_BYTES) throw malformed('it has no message');
  const end = FRAME_HEAD_BYTES + view.readUInt32BE(1);
  if (end > view.length) throw malformed('its message is cut off');
  if (end < view.length) throw malformed('there is something behind its message');
  return { flags: view[0]!, message: view.subarray(FRAME_HEAD_BYTES) };
}

export function tooLarge(bytesMax: number): AuditError {
  return new AuditError('REQUEST_TOO_LARGE', `The message is over the limit of ${bytesMax} bytes.`);
}

/** `encoding`: what the sender says that compressed messages are compressed with. */
export async function unpacked(
  { flags, message }: Frame,
  encoding: string | undefined,
  bytesMax: number,
): Promise<Uint8Array> {
  if ((flags & ~COMPRESSED) !== 0) throw malformed('its flags have no meaning here');
  if ((flags & COMPRESSED) === 0) {
    if (message.length > bytesMax) throw tooLarge(bytesMax);
    return message;
  }
  if (encoding !== 'gzip') throw unknownEncoding(encoding ?? 'identity');
  try {
    return await unzip(message, { maxOutputLength: bytesMax });
  } catch (error) {
    if ((error as { code?: string }).code === 'ERR_BUFFER_TOO_LARGE') throw tooLarge(bytesMax);
    throw malformed('its message is badly compressed');
  }
}

export function unknownEncoding(value: string): AuditError {
  const issue = 'must be gzip or identity';
  return new AuditError('UNSUPPORTED_MEDIA_TYPE', `The encoding of messages ${issue}.`, {
    details: [{ field: 'grpc-encoding', issue, value }],
  });
}

export function malformed(what: string): AuditError {
  return new AuditError('MALFORMED_JSON', `The body is not a call as its content type says: ${what}.`);
}
