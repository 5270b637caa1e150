// HTTP/2 by hand, for what no client library sends: frames with any bytes, headers without compression, and what comes back as
// frames.

import { connect, type Socket } from 'node:net';

export const FRAME = {
  Data: 0,
  Headers: 1,
  Reset: 3,
  Settings: 4,
  Ping: 6,
  WindowUpdate: 8,
  Continuation: 9,
} as const;
export const END_STREAM = 1;
export const END_HEADERS = 4;

const HEAD_BYTES = 9;

export function rawFrame(type: number, flags: number, stream: number, payload: Uint8Array): Buffer {
  const frame = Buffer.alloc(HEAD_BYTES + payload.length);
  frame.writeUIntBE(payload.length, 0, 3);
  frame[3] = type;
  frame[4] = flags;
  frame.writeUInt32BE(stream, 5);
  frame.set(payload, HEAD_BYTES);
  return frame;
}

/** Literal headers that no table remembers. */
export function rawHeaders(headers: Readonly<Record<string, string>>): Buffer {
  const pieces = Object.entries(headers).map(([name, value]) =>
    Buffer.concat([Buffer.of(0), rawText(name), rawText(value)]),
  );
  return Buffer.concat(pieces);
}

export function rawText(text: string): Buffer {
  return Buffer.concat([rawInteger(text.length), Buffer.from(text)]);
}

/** With a prefix of seven bits. */
function rawInteger(value: number): Buffer {
  if (value < 127) return Buffer.of(value);
  const bytes = [127];
  let rest = value - 127;
  for (; rest >= 128; rest = Math.floor(rest / 128)) bytes.push((rest % 128) | 128);
  return Buffer.of(...bytes, rest);
}

export class RawConnection implements Disposable {
  readonly #socket: Socket;
  /** How many frames of each type came. */
  readonly came = new Map<number, number>();
  isOver = false;
  #rest: Buffer = Buffer.alloc(0);

  constructor(port: number, settings: Uint8Array = Buffer.alloc(0)) {
    this.#socket = connect({ port, host: '127.0.0.1', noDelay: true });
    this.#socket.on('data', (chunk) => this.#take(chunk));
    this.#socket.on('error', () => {});
    this.#socket.on('close', () => (this.isOver = true));
    this.#socket.write('PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n');
    this.#socket.write(rawFrame(FRAME.Settings, 0, 0, settings));
  }

  /** Resolves when it is written, or the connection is over. */
  send(bytes: readonly Uint8Array[]): Promise<void> {
    if (this.#socket.destroyed) return Promise.resolve();
    return new Promise((resolve) => {
      this.#socket.once('close', () => resolve());
      this.#socket.write(Buffer.concat(bytes), () => resolve());
    });
  }

  /** Whether it comes true in time. */
  async within(ms: number, isSo: () => boolean): Promise<boolean> {
    for (const endMs = performance.now() + ms; performance.now() < endMs; ) {
      if (isSo()) return true;
      await new Promise((resolve) => setTimeout(resolve, 20));
    }
    return isSo();
  }

  [Symbol.dispose](): void {
    this.#socket.destroy();
  }

  #take(chunk: Buffer): void {
    let rest = Buffer.concat([this.#rest, chunk]);
    while (rest.length >= HEAD_BYTES) {
      const end = HEAD_BYTES + rest.readUIntBE(0, 3);
      if (rest.length < end) break;
      const type = rest[3]!;
      this.came.set(type, (this.came.get(type) ?? 0) + 1);
      rest = rest.subarray(end);
    }
    this.#rest = rest;
  }
}
