// A consumer of webhooks on loopback: it keeps what it gets, and answers as it is told.

import { createServer, type IncomingHttpHeaders, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { Notification } from '@tallystick/contract';
import { until } from './until.ts';

export interface Got {
  readonly path: string;
  readonly headers: IncomingHttpHeaders;
  /** The exact bytes, as text. */
  readonly text: string;
  readonly body: Notification;
  readonly atMs: number;
}

/** A status, or whatever is done with the response. */
export type Reply = number | ((response: ServerResponse, got: Got) => void);

export class Consumer implements AsyncDisposable {
  readonly got: Got[] = [];
  /** Asked for each delivery. */
  reply: (got: Got) => Reply = () => 200;
  readonly #server = createServer((request, response) => {
    const chunks: Buffer[] = [];
    request.on('data', (chunk: Buffer) => chunks.push(chunk));
    request.on('end', () => {
      const text = Buffer.concat(chunks).toString();
      const { url: path = '', headers } = request;
      const got: Got = { path, headers, text, body: JSON.parse(text) as Notification, atMs: Date.now() };
      this.got.push(got);
      const reply = this.reply(got);
      if (typeof reply === 'number') response.writeHead(reply).end('ok');
      else reply(response, got);
    });
  });

  static async start(): Promise<Consumer> {
    const consumer = new Consumer();
    await new Promise<void>((resolve) => consumer.#server.listen(0, '127.0.0.1', resolve));
    return consumer;
  }

  /** Each consumer is an origin of its own. */
  get url(): string {
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}/hook`;
  }

  async gotMany(count: number): Promise<readonly Got[]> {
    await until(() => this.got.length >= count);
    return this.got;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#server.closeAllConnections();
    await new Promise((resolve) => this.#server.close(resolve));
  }
}
