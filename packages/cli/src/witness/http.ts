// The witness over HTTP: POST /add-checkpoint; GET /<SHA-256 of an origin>/checkpoint, the latest one it cosigned; and
// GET /, for people. Requests are small and short: what is larger or slower is cut off.

import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { type Answer, addCheckpoint, TEXT, textAnswer, type Witness } from './add-checkpoint.ts';
import type { Heads } from './heads.ts';

export interface HttpOptions {
  readonly witness: Witness;
  readonly host: string;
  readonly port: number;
  /** Told of what nobody foresaw; the answer is 500 and no cosignature. */
  readonly onError: (error: unknown) => void;
}

export interface HttpWitness {
  readonly address: string;
  /** Answers what is under way and takes nothing new. */
  stop(): Promise<void>;
  /** Cuts off what is under way. */
  cutOff(): void;
}

/** 63 hashes are under 3 KB; the rest is for signatures, ten of the largest kind known and more. */
const REQUEST_BYTES_MAX = 64 * 1024;
/** What is too long is read and dropped up to here: a connection that is closed over unread bytes loses its answer. */
const DRAINED_BYTES_MAX = 1024 * 1024;
const REQUEST_MS_MAX = 10_000;
const CONNECTIONS_MAX = 1000;
const LISTED_MAX = 1000;

const ADD_PATH = '/add-checkpoint';

export async function serveWitness(options: HttpOptions): Promise<HttpWitness> {
  let isStopping = false;
  const server = createServer(
    {
      requestTimeout: REQUEST_MS_MAX,
      headersTimeout: REQUEST_MS_MAX,
      connectionsCheckingInterval: 1000,
      maxHeaderSize: 8192,
    },
    (request, response) => {
      // What is answered while it stops is the last on its connection.
      response.shouldKeepAlive &&= !isStopping;
      void serve(request, response, options);
    },
  );
  server.maxConnections = CONNECTIONS_MAX;
  await listen(server, options);
  const { address, family, port } = server.address() as AddressInfo;
  return {
    address: `http://${family === 'IPv6' ? `[${address}]` : address}:${port}`,
    stop() {
      isStopping = true;
      return new Promise((resolve) => server.close(() => resolve()));
    },
    cutOff: () => server.closeAllConnections(),
  };
}

async function serve(request: IncomingMessage, response: ServerResponse, options: HttpOptions) {
  let answer: Answer;
  try {
    answer = await answerTo(request, options.witness);
  } catch (error) {
    // A client that went away needs no answer.
    if (request.destroyed && !request.complete) return;
    options.onError(error);
    answer = textAnswer(500, 'the witness failed; nothing was cosigned');
  }
  const { status, contentType, body } = answer;
  const isCut = !request.complete;
  response.writeHead(status, {
    'content-type': contentType,
    'content-length': Buffer.byteLength(body),
    ...(status === 405 ? { allow: pathOf(request) === ADD_PATH ? 'POST' : 'GET, HEAD' } : {}),
    // What was not read to its end cannot be followed by another request.
    ...(isCut ? { connection: 'close' } : {}),
  });
  response.end(request.method === 'HEAD' ? undefined : body);
}

async function answerTo(request: IncomingMessage, witness: Witness): Promise<Answer> {
  const { method } = request;
  const path = pathOf(request);
  if (path === ADD_PATH) {
    if (method !== 'POST') return textAnswer(405, 'a checkpoint is added by POST');
    const body = await readBody(request);
    return body === undefined
      ? textAnswer(413, `a request has at most ${REQUEST_BYTES_MAX} bytes`)
      : addCheckpoint(body, witness);
  }
  if (method !== 'GET' && method !== 'HEAD')
    return textAnswer(405, 'only /add-checkpoint takes anything else than GET');
  if (path === '/') return { status: 200, contentType: TEXT, body: overview(witness) };
  const hash = /^\/([0-9a-f]{64})\/checkpoint$/.exec(path)?.[1];
  const head = hash === undefined ? undefined : witness.heads.latestByHash(hash);
  return head === undefined
    ? textAnswer(404, 'there is nothing here')
    : { status: 200, contentType: TEXT, body: head.note };
}

function pathOf({ url = '' }: IncomingMessage): string {
  return url.split('?')[0]!;
}

/** Undefined if it is too long. */
async function readBody(request: IncomingMessage): Promise<Uint8Array | undefined> {
  const chunks: Buffer[] = [];
  let bytes = 0;
  // Not destroyed where it is left, or the answer would never arrive.
  const read = request.iterator({ destroyOnReturn: false }) as AsyncIterable<Buffer>;
  for await (const chunk of read) {
    bytes += chunk.length;
    if (bytes > DRAINED_BYTES_MAX) return undefined;
    if (bytes <= REQUEST_BYTES_MAX) chunks.push(chunk);
  }
  return bytes > REQUEST_BYTES_MAX ? undefined : Buffer.concat(chunks);
}

function overview({ cosigner, logs, heads }: Witness): string {
  const cosigned = heads.list(LISTED_MAX);
  const more = heads.count() - cosigned.length;
  const seen = new Set(cosigned.map(({ origin }) => origin));
  return [
    `witness  ${cosigner.name}`,
    `key      ${cosigner.verifierKey}`,
    ...logs.prefixes.map((prefix) => `follows  every log below ${prefix}`),
    ...logs.names
      .filter((name) => !seen.has(name))
      .map((name) => `follows  ${name}, of which it has seen nothing`),
    ...cosigned.map(({ origin, size }) => `cosigned ${origin} ${size}${afterWhich(origin, heads)}`),
    ...(more > 0 ? [`and ${more} more`] : []),
    '',
  ].join('\n');
}

/** Of a log that was restored the old and the new name are two logs to a witness; a reader may compare them. */
function afterWhich(origin: string, heads: Heads): string {
  const before = heads.before(origin);
  return before === undefined ? '' : `, by its name after ${before.origin} ${before.size}`;
}

function listen(server: Server, { host, port }: HttpOptions): Promise<void> {
  return new Promise((resolve, reject) => {
    server.once('error', reject);
    server.listen({ host, port }, () => resolve());
  });
}
