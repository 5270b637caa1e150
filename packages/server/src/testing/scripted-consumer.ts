// A consumer of webhooks that follows a script: what it does with each connection, byte by byte, over TCP or TLS. For faults
// that no HTTP server commits. The scripts for most of them are in consumer-scripts.ts.

import { once } from 'node:events';
import { type AddressInfo, createServer, type Server, type Socket } from 'node:net';
import { createServer as createTlsServer, TLSSocket, type TlsOptions } from 'node:tls';

export interface ReceivedRequest {
  readonly method: string;
  readonly path: string;
  /** Names in lower case. */
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
  /** On the how many-th connection it came, from 0. */
  readonly connection: number;
}

/** Runs once for each connection; the connection stays open when it is over. */
export type Script = (line: Line) => Promise<void> | void;

export interface ScriptedOptions {
  /** The n-th connection gets the n-th, those after it the last one. */
  readonly scripts: readonly Script[];
  /** Served over TLS with these; `requestCert` and the like too. */
  readonly tls?: TlsOptions;
  /** The connection is given to the script before TLS is negotiated. */
  readonly isBare?: boolean;
}

/** One connection, as a script sees it. */
export class Line {
  readonly index: number;
  readonly socket: Socket;
  readonly #bare: Socket;
  readonly #received: ReceivedRequest[];
  #bytes = Buffer.alloc(0);
  #isOver = false;
  #wake = () => {};

  /** `bare` is what TLS is spoken over, or the socket itself. */
  constructor(index: number, socket: Socket, bare: Socket, received: ReceivedRequest[]) {
    this.index = index;
    this.socket = socket;
    this.#bare = bare;
    this.#received = received;
    socket.on('close', () => {
      this.#isOver = true;
      this.#wake();
    });
  }

  /** From now on what arrives is read. Without it nothing is, so that the sender's writes come to a stand. */
  #read(): void {
    if (this.socket.listenerCount('data') > 0) return;
    this.socket.on('data', (chunk: Buffer) => {
      this.#bytes = Buffer.concat([this.#bytes, chunk]);
      this.#wake();
    });
  }

  /** The next whole request; undefined where the connection ends without one. */
  async request(): Promise<ReceivedRequest | undefined> {
    this.#read();
    for (;;) {
      const request = this.#parse();
      if (request !== undefined) {
        this.#received.push(request);
        return request;
      }
      if (this.#isOver) return undefined;
      const { promise, resolve } = Promise.withResolvers<void>();
      this.#wake = resolve;
      await promise;
    }
  }

  #parse(): ReceivedRequest | undefined {
    const end = this.#bytes.indexOf('\r\n\r\n');
    if (end === -1) return undefined;
    const [first = '', ...lines] = this.#bytes.subarray(0, end).toString('latin1').split('\r\n');
    const headers = Object.fromEntries(
      lines.map((line) => [
        line.slice(0, line.indexOf(':')).toLowerCase(),
        line.slice(line.indexOf(':') + 1).trim(),
      ]),
    );
    const bodyEnd = end + 4 + Number(headers['content-length'] ?? 0);
    if (this.#bytes.length < bodyEnd) return undefined;
    const body = this.#bytes.subarray(end + 4, bodyEnd).toString();
    this.#bytes = this.#bytes.subarray(bodyEnd);
    const [method = '', path = ''] = first.split(' ');
    return { method, path, headers, body, connection: this.index };
  }

  get isOver(): boolean {
    return this.#isOver;
  }

  /** Waits until there is room for more; at once where the connection is over. */
  async write(bytes: string | Uint8Array): Promise<void> {
    if (this.#isOver || this.socket.write(bytes)) return;
    const { promise, resolve } = Promise.withResolvers<void>();
    const ready = () => {
      this.socket.off('drain', ready).off('close', ready);
      resolve();
    };
    this.socket.on('drain', ready).on('close', ready);
    await promise;
  }

  /** Writes it again and again until the connection is over; returns how often. */
  async flood(bytes: Uint8Array, times = Infinity): Promise<number> {
    let written = 0;
    for (; written < times && !this.#isOver; written++) await this.write(bytes);
    return written;
  }

  /** Byte by byte, with a pause after each. */
  async drip(text: string, everyMs: number): Promise<void> {
    for (const byte of Buffer.from(text)) {
      if (this.#isOver) return;
      await this.write(Uint8Array.of(byte));
      await this.pause(everyMs);
    }
  }

  async pause(ms: number): Promise<void> {
    await new Promise((resolve) => setTimeout(resolve, ms));
  }

  close(): void {
    this.socket.end();
  }

  /** By RST, not by FIN. */
  reset(): void {
    this.#bare.resetAndDestroy();
  }
}

export class ScriptedConsumer implements AsyncDisposable {
  readonly #server: Server;
  readonly #sockets = new Set<Socket>();
  readonly #scheme: string;
  /** In the order in which they were read. */
  readonly requests: ReceivedRequest[] = [];
  /** How many connections there have been. */
  connections = 0;

  private constructor({ scripts, tls, isBare = false }: ScriptedOptions) {
    this.#scheme = tls === undefined ? 'http' : 'https';
    const secured = new Map<number | undefined, (socket: Socket) => void>();
    const overTls = tls && createTlsServer(tls, (socket) => secured.get(socket.remotePort)?.(socket));
    overTls?.on('tlsClientError', () => {});
    this.#server = createServer((bare) => {
      const index = this.connections++;
      this.#keep(bare);
      const script = scripts[Math.min(index, scripts.length - 1)]!;
      const follow = (socket: Socket) => this.#follow(script, new Line(index, socket, bare, this.requests));
      if (overTls === undefined || isBare) return follow(bare);
      secured.set(bare.remotePort, (socket) => {
        this.#keep(socket);
        follow(socket);
      });
      overTls.emit('connection', bare);
    });
  }

  static async start(...scripts: readonly Script[]): Promise<ScriptedConsumer> {
    return ScriptedConsumer.with({ scripts });
  }

  static async with(options: ScriptedOptions): Promise<ScriptedConsumer> {
    const consumer = new ScriptedConsumer(options);
    consumer.#server.listen(0, '127.0.0.1');
    await once(consumer.#server, 'listening');
    return consumer;
  }

  get port(): number {
    return (this.#server.address() as AddressInfo).port;
  }

  /** By its address; a name that leads there does as well. */
  get url(): string {
    return `${this.#scheme}://127.0.0.1:${this.port}`;
  }

  /** How many connections are open now. It reads from all of them, since one that is not read from never ends. */
  open(): number {
    const bare = [...this.#sockets].filter((socket) => !(socket instanceof TLSSocket));
    for (const socket of this.#sockets) socket.resume();
    return bare.length;
  }

  #keep(socket: Socket): void {
    this.#sockets.add(socket);
    socket.on('error', () => {});
    socket.on('close', () => this.#sockets.delete(socket));
  }

  #follow(script: Script, line: Line): void {
    line.socket.setNoDelay(true);
    void script(line);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const socket of this.#sockets) socket.destroy();
    await new Promise((resolve) => this.#server.close(resolve));
  }
}
