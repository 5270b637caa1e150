// A consumer of webhooks on loopback, for trying things out: it answers every delivery, and reports each.

import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { CannotRun } from '../cannot-run.ts';
import { codeOf } from '../read-text.ts';
import { hear, type Heard, type Judging } from './heard.ts';

export interface ListenerOptions {
  readonly port: number;
  /** Answered to what is genuine, or is not verified. */
  readonly status: number;
  /** Asked for each delivery: the secret may be known only after the start. */
  readonly judging: () => Judging;
  readonly tell: (heard: Heard) => void;
}

export interface Listener {
  readonly url: string;
  stop(): Promise<void>;
}

const HOST = '127.0.0.1';
/** An event has at most 64 KB each of context and payload. */
const BODY_BYTES_MAX = 1024 * 1024;
const REFUSED = 400;
const TOO_LARGE = 413;
const REFUSED_VERDICTS = ['wrong-signature', 'too-old', 'malformed'];

export async function listen(options: ListenerOptions): Promise<Listener> {
  const server = createServer((request, response) => {
    answer(request, response, options).catch(() => response.destroy());
  });
  await new Promise<void>((resolve, reject) => {
    server.once('error', (error) => {
      reject(new CannotRun(`cannot listen on port ${options.port} of ${HOST} (${codeOf(error)})`));
    });
    server.listen(options.port, HOST, resolve);
  });
  return {
    url: `http://${HOST}:${(server.address() as AddressInfo).port}/`,
    async stop() {
      const stopped = new Promise((resolve) => server.close(resolve));
      server.closeAllConnections();
      await stopped;
    },
  };
}

async function answer(
  request: IncomingMessage,
  response: ServerResponse,
  { status, judging, tell }: ListenerOptions,
): Promise<void> {
  const body = await bodyOf(request);
  if (body === undefined) {
    response.writeHead(TOO_LARGE, { connection: 'close' }).end();
    return;
  }
  const heard = hear(request.headers, body, judging());
  response.writeHead(REFUSED_VERDICTS.includes(heard.verdict) ? REFUSED : status).end();
  tell(heard);
}

/** Undefined if it is too long. */
async function bodyOf(request: IncomingMessage): Promise<Uint8Array | undefined> {
  const chunks: Buffer[] = [];
  let bytes = 0;
  const read = request.iterator({ destroyOnReturn: false }) as AsyncIterable<Buffer>;
  for await (const chunk of read) {
    bytes += chunk.length;
    if (bytes > BODY_BYTES_MAX) return undefined;
    chunks.push(chunk);
  }
  return Buffer.concat(chunks);
}
