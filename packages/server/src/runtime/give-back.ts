// Gives the memory of a large buffer back at once, instead of leaving it to the collector. V8 counts such bytes, and
// looks through its whole heap for buffers that nobody has any more whenever some tens of megabytes have come
// together: under load that costs a tenth of all time. A buffer that was given back is empty: a late reader
// finds nothing in it, and never the bytes of another request.

/** Above what a socket or a decoder gives in one piece: smaller ones may not be ours alone. */
const BYTES_MIN = 128 * 1024;

/** Only for bytes that were made for one request and are not read any more. */
export function giveBack({ buffer, byteLength }: Uint8Array): void {
  const isWhole = byteLength === buffer.byteLength && buffer instanceof ArrayBuffer;
  if (isWhole && byteLength >= BYTES_MIN) buffer.transfer(0);
}
