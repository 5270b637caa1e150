// A server on loopback that answers JSON with JSON, for stand-ins of the services that ours asks. It can go away and come back at
// the same address.

import { createServer, type IncomingHttpHeaders, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';

export interface JsonRequest {
  readonly path: string;
  readonly headers: IncomingHttpHeaders;
  /** Fields that are objects are cast by who expects one. */
  readonly body: Readonly<Record<string, string | undefined>>;
}

export interface JsonAnswer {
  readonly status: number;
  readonly body: unknown;
}

export class JsonServer implements AsyncDisposable {
  readonly #answer: (request: JsonRequest) => JsonAnswer;
  #server: Server | undefined;
  #port = 0;

  private constructor(answer: (request: JsonRequest) => JsonAnswer) {
    this.#answer = answer;
  }

  static async start(answer: (request: JsonRequest) => JsonAnswer): Promise<JsonServer> {
    const server = new JsonServer(answer);
    await server.comeBack();
    return server;
  }

  get url(): string {
    return `http://127.0.0.1:${this.#port}`;
  }

  async comeBack(): Promise<void> {
    const server = createServer((request, response) => {
      const chunks: Buffer[] = [];
      request.on('data', (chunk: Buffer) => chunks.push(chunk));
      request.on('end', () => {
        const { url = '', headers } = request;
        const text = Buffer.concat(chunks).toString();
        const body = (text === '' ? {} : JSON.parse(text)) as JsonRequest['body'];
        const { status, body: answered } = this.#answer({ path: url, headers, body });
        response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(answered));
      });
    });
    await new Promise<void>((resolve) => server.listen(this.#port, '127.0.0.1', resolve));
    this.#port = (server.address() as AddressInfo).port;
    this.#server = server;
  }

  async goAway(): Promise<void> {
    const server = this.#server;
    if (server === undefined) return;
    this.#server = undefined;
    server.closeAllConnections();
    await new Promise((resolve) => server.close(resolve));
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.goAway();
  }
}
