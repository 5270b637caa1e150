// A forward proxy on loopback: tunnels where it is asked to (CONNECT), plain or over TLS, and may want credentials or refuse.

import { once } from 'node:events';
import { createServer, type IncomingMessage, type Server } from 'node:http';
import { createServer as createTlsServer } from 'node:https';
import { type AddressInfo, connect, type Socket } from 'node:net';
import type { Certificate } from './certificates.ts';

export interface AskedTunnel {
  /** `address:port`, as it was asked for. */
  readonly to: string;
  readonly authorization: string | undefined;
}

export interface ForwardProxyOptions {
  readonly tls?: Certificate;
  readonly refuses?: number;
}

export class ForwardProxy implements AsyncDisposable {
  readonly #server: Server;
  readonly #scheme: string;
  readonly #sockets = new Set<Socket>();
  readonly asked: AskedTunnel[] = [];
  /** What it answers instead of tunnelling. */
  refuses: number | undefined;

  private constructor({ tls, refuses }: ForwardProxyOptions) {
    this.refuses = refuses;
    this.#scheme = tls === undefined ? 'http' : 'https';
    this.#server =
      tls === undefined ? createServer() : createTlsServer({ cert: tls.certificate, key: tls.key });
    this.#server.on('connection', (socket) => this.#keep(socket));
    this.#server.on('connect', (request: IncomingMessage, from: Socket) => {
      const { url: to = '', headers } = request;
      this.asked.push({ to, authorization: headers['proxy-authorization'] });
      from.on('error', () => {});
      if (this.refuses !== undefined)
        return void from.end(`HTTP/1.1 ${this.refuses} No\r\ncontent-length: 0\r\n\r\n`);
      const { hostname, port } = new URL(`tunnel://${to}`);
      const onward = connect(Number(port), hostname.replace(/^\[|\]$/g, ''));
      this.#keep(onward);
      onward.once('connect', () => {
        from.write('HTTP/1.1 200 Connection established\r\n\r\n');
        from.pipe(onward).pipe(from);
      });
      onward.on('error', () => from.end('HTTP/1.1 502 Bad Gateway\r\ncontent-length: 0\r\n\r\n'));
      return undefined;
    });
  }

  static async start(options: ForwardProxyOptions = {}): Promise<ForwardProxy> {
    const proxy = new ForwardProxy(options);
    proxy.#server.listen(0, '127.0.0.1');
    await once(proxy.#server, 'listening');
    return proxy;
  }

  /** `credentials`, such as `user:password`, for whoever is to use it. */
  url(credentials = ''): string {
    const { port } = this.#server.address() as AddressInfo;
    return `${this.#scheme}://${credentials === '' ? '' : `${credentials}@`}127.0.0.1:${port}`;
  }

  #keep(socket: Socket): void {
    this.#sockets.add(socket);
    socket.on('error', () => {});
    socket.on('close', () => this.#sockets.delete(socket));
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const socket of this.#sockets) socket.destroy();
    await new Promise((resolve) => this.#server.close(resolve));
  }
}
