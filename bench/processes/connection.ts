// One keep-alive connection with one request on the wire at a time. It speaks just enough HTTP/1.1 to cost less than
// what it measures: a request is bytes that were made beforehand, without Accept-Encoding; an answer is read by its
// status line and its Content-Length, and one without is an error.

import { connect, type Socket } from 'node:net';

type OnAnswer = (answer: Answer) => void;
type OnError = (error: Error) => void;

export class Connection {
  readonly #socket: Socket;
  #onAnswer: OnAnswer = () => {};
  #onError: OnError = fatal;
  #isWaiting = false;
  #sentAt = 0;
  /** Of an answer that does not come in one piece: the room for all of it, and how much has come. */
  #begun: Buffer | undefined;
  #came = 0;

  constructor(port: number) {
    // One room for all that is read: no buffer is made for an answer that comes in one piece.
    const room = Buffer.allocUnsafe(READ_BYTES);
    const callback = (bytes: number) => {
      this.#take(room.subarray(0, bytes));
      return true;
    };
    this.#socket = connect({ port, host: '127.0.0.1', noDelay: true, onread: { buffer: room, callback } });
    this.#socket.on('error', (error) => this.#fail(error));
    this.#socket.on('close', () => this.#fail(new Error('the connection was closed before the answer came')));
  }

  /** The bytes of the answer are gone when `onAnswer` returns. An error that nobody takes ends the process. */
  send(request: Buffer, onAnswer: OnAnswer, onError: OnError = fatal): void {
    this.#onAnswer = onAnswer;
    this.#onError = onError;
    this.#isWaiting = true;
    if (this.#socket.destroyed) return this.#fail(new Error('the connection has been closed'));
    this.#sentAt = performance.now();
    this.#socket.write(request);
  }

  /** The same, as a promise; the bytes of the answer stay. */
  ask(request: Buffer): Promise<Answer> {
    return new Promise((resolve, reject) => {
      this.send(request, (answer) => resolve(answer.kept()), reject);
    });
  }

  close(): void {
    this.#isWaiting = false;
    this.#socket.destroy();
  }

  #take(chunk: Buffer): void {
    if (this.#begun !== undefined) {
      this.#came += chunk.copy(this.#begun, this.#came);
      if (this.#came === this.#begun.length) this.#end(this.#begun);
      return;
    }
    const length = answerLength(chunk);
    if (length instanceof Error) return this.#fail(length);
    if (chunk.length >= length) return this.#end(chunk);
    this.#begun = Buffer.allocUnsafe(length);
    this.#came = chunk.copy(this.#begun);
  }

  #end(bytes: Buffer): void {
    const latencyMs = performance.now() - this.#sentAt;
    this.#begun = undefined;
    this.#isWaiting = false;
    this.#onAnswer(new Answer(bytes, latencyMs));
  }

  #fail(error: Error): void {
    if (!this.#isWaiting) return;
    this.close();
    this.#onError(error);
  }
}

/** Read only as far as it is asked. */
export class Answer {
  /** From the request to the last byte of the answer. */
  readonly latencyMs: number;
  readonly #bytes: Buffer;

  constructor(bytes: Buffer, latencyMs: number) {
    this.#bytes = bytes;
    this.latencyMs = latencyMs;
  }

  get status(): number {
    return Number(this.#bytes.toString('latin1', 9, 12));
  }

  get head(): string {
    return this.#bytes.toString('latin1', 0, this.#bytes.indexOf(HEAD_END));
  }

  get body(): Buffer {
    return this.#bytes.subarray(this.#bytes.indexOf(HEAD_END) + HEAD_END.length);
  }

  kept(): Answer {
    return new Answer(Buffer.from(this.#bytes), this.latencyMs);
  }
}

/** A request as it goes over the wire, in one piece. `headers` are whole lines, each with its end. */
export function requestOf(
  method: 'GET' | 'POST',
  path: string,
  headers: string,
  body?: Buffer,
  contentType = 'application/json',
): Buffer {
  const start = `${method} ${path} HTTP/1.1\r\nHost: 127.0.0.1\r\n${headers}`;
  if (body === undefined) return Buffer.from(`${start}\r\n`, 'latin1');
  const head = `${start}Content-Type: ${contentType}\r\nContent-Length: ${body.length}\r\n\r\n`;
  const request = Buffer.allocUnsafe(head.length + body.length);
  request.write(head, 0, 'latin1');
  body.copy(request, head.length);
  return request;
}

/** The header lines that say who asks, and for whom. */
export function headersOf(apiKey: string, tenant: string): string {
  return `X-API-Key: ${apiKey}\r\nX-Tenant-Id: ${tenant}\r\n`;
}

const READ_BYTES = 64 * 1024;
const HEAD_END = '\r\n\r\n';
/** The end of the one header that is looked for: servers do not agree on its capitals. */
const LENGTH_HEADER = 'ength: ';

/** Of head and body, by the first that comes of them. */
function answerLength(received: Buffer): number | Error {
  const headEnd = received.indexOf(HEAD_END);
  if (headEnd === -1)
    return new Error(`the head of an answer did not come in one piece: ${String(received)}`);
  const at = received.indexOf(LENGTH_HEADER);
  if (at === -1 || at > headEnd)
    return new Error(`an answer has no Content-Length: ${received.toString('latin1', 0, headEnd)}`);
  const from = at + LENGTH_HEADER.length;
  return headEnd + HEAD_END.length + Number.parseInt(received.toString('latin1', from, from + 10), 10);
}

function fatal(error: Error): void {
  throw error;
}
