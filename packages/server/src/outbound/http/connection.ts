// One connection, and the requests that go over it one after the other. Node's client writes and parses HTTP; which
// connection a request takes, and how long it is kept, is decided in pool.ts.

import type { Agent, IncomingMessage } from 'node:http';
import type { Socket } from 'node:net';
import type { Course } from './course.ts';
import { faultOf } from './fault-of.ts';
import { GivenConnection } from './given-connection.ts';
import type { OutboundAnswer, OutboundRequest } from './outbound-http.ts';
import type { Target } from './target.ts';
import { ClientRequest } from '../../runtime/node-http.ts';

const HEADER_BYTES_MAX = 16 * 1024;
/** Of a whole answer as it arrives: a chunk of one byte takes six, and interim answers come before the one that counts. */
const arrivingBytesMax = (bodyBytesMax: number) => 8 * bodyBytesMax + 4 * HEADER_BYTES_MAX;

/** Servers say when they close an idle connection; a request that leaves this much earlier arrives in time. */
const HINT_MARGIN_MS = 1000;

/** A kept connection ended before a byte of the answer came: the peer had given it up before it saw the request. */
export class StaleConnection extends Error {}

export type SentRequest = Pick<
  OutboundRequest,
  'method' | 'headers' | 'body' | 'answerBytesMax' | 'overLimit'
>;

interface Exchange {
  readonly course: Course;
  readonly bytesReadMax: number;
  readonly tooLarge: () => Error;
  hasByte: boolean;
}

export class Connection {
  readonly openedNs: number;
  readonly #socket: Socket;
  readonly #agent: Agent;
  #exchange: Exchange | undefined;
  #isKept = false;
  #isFree = false;
  /** As the peer has it. */
  #idleMsMax = Infinity;

  constructor(socket: Socket, openedNs: number) {
    this.#socket = socket;
    this.openedNs = openedNs;
    this.#agent = new GivenConnection(socket);
    socket.on('data', () => this.#onData());
    socket.on('free', () => (this.#isFree = true));
    // The socket was given the time that it may be idle.
    socket.on('timeout', () => {
      if (this.#exchange === undefined) socket.destroy();
    });
  }

  onClose(run: () => void): void {
    this.#socket.once('close', run);
  }

  /** Whether it can take a request now. */
  get isFree(): boolean {
    return this.#isFree && !this.#socket.destroyed && this.#socket.writable;
  }

  /** How long it may be idle, as the peer says. */
  get idleMsMax(): number {
    return this.#idleMsMax;
  }

  close(): void {
    this.#socket.destroy();
  }

  /** It does not keep the process running. */
  rest(): void {
    this.#isKept = true;
    this.#socket.unref();
  }

  /** Rejects with StaleConnection, with OutboundError, or with the end of the course. */
  send(target: Target, request: SentRequest, course: Course): Promise<OutboundAnswer> {
    const { answerBytesMax, overLimit = 'Error' } = request;
    const socket = this.#socket;
    const exchange: Exchange = {
      course,
      bytesReadMax: socket.bytesRead + arrivingBytesMax(answerBytesMax),
      tooLarge: () =>
        course.error('TooLarge', `the answer of ${target.url.origin} is over ${answerBytesMax} bytes`),
      hasByte: false,
    };
    this.#exchange = exchange;
    this.#isFree = false;
    if (this.#isKept) socket.ref();
    course.enter('FirstByte');
    return course.during((done, failed) => {
      const fail = (error: unknown) => {
        this.#exchange = undefined;
        socket.destroy();
        const isStale = this.#isKept && !exchange.hasByte;
        failed(isStale ? new StaleConnection('stale', { cause: error }) : faultOf(error, target.url, course));
      };
      const sent = this.#begin(target, request);
      sent.on('error', fail);
      sent.on('upgrade', () => {
        fail(course.error('Protocol', `${target.url.origin} changes the protocol, which nobody asked for`));
      });
      sent.on('response', (answer) => {
        const { statusCode: status = 0, headers } = answer;
        const hint = headers['keep-alive'];
        if (hint !== undefined) this.#idleMsMax = idleMsIn(String(hint));
        readBody(answer, answerBytesMax, fail, (body, isCut) => {
          if (isCut && overLimit === 'Error') return fail(exchange.tooLarge());
          this.#exchange = undefined;
          if (isCut) socket.destroy();
          return done({ status, headers, body, isCut, timings: course.timings() });
        });
      });
      sent.end(request.body);
      return () => socket.destroy();
    });
  }

  #begin({ url }: Target, request: SentRequest): ClientRequest {
    return new ClientRequest({
      agent: this.#agent,
      method: request.method ?? 'GET',
      path: `${url.pathname}${url.search}`,
      headers: headerLines(url.host, request),
      maxHeaderSize: HEADER_BYTES_MAX,
    });
  }

  #onData(): void {
    const exchange = this.#exchange;
    // Nobody asked: what comes now would be taken for the answer to the next request.
    if (exchange === undefined) return void this.#socket.destroy();
    if (!exchange.hasByte) {
      exchange.hasByte = true;
      exchange.course.enter('Body');
    }
    if (this.#socket.bytesRead > exchange.bytesReadMax) this.#socket.destroy(exchange.tooLarge());
  }
}

const USUAL = { 'accept-encoding': 'identity', 'user-agent': 'tallystick' };

/** Names and values in turn, which costs Node half of what an object does. Those of the request come before the usual ones. */
function headerLines(host: string, { method, headers: own = {}, body = '' }: SentRequest): string[] {
  const names = new Set(['host', 'content-length']);
  const lines = ['host', host];
  if (method === 'POST' || method === 'PUT') lines.push('content-length', String(Buffer.byteLength(body)));
  for (const headers of [own, USUAL]) {
    for (const [name, value] of Object.entries(headers)) {
      const known = name.toLowerCase();
      if (names.has(known)) continue;
      names.add(known);
      lines.push(name, value);
    }
  }
  return lines;
}

/** Gives the first bytes, and whether there were more of them. */
function readBody(
  answer: IncomingMessage,
  bytesMax: number,
  failed: (error: unknown) => void,
  done: (body: Buffer, isCut: boolean) => void,
): void {
  const chunks: Buffer[] = [];
  let bytes = 0;
  answer.on('error', failed);
  answer.on('data', (chunk: Buffer) => {
    if (bytes > bytesMax) return;
    bytes += chunk.length;
    chunks.push(chunk);
    if (bytes > bytesMax) done(Buffer.concat(chunks, bytesMax), true);
  });
  answer.on('end', () => {
    if (bytes <= bytesMax) done(chunks.length === 1 ? chunks[0]! : Buffer.concat(chunks), false);
  });
}

function idleMsIn(hint: string): number {
  const seconds = /timeout=(\d{1,6})/i.exec(hint)?.[1];
  return seconds === undefined ? Infinity : Number(seconds) * 1000 - HINT_MARGIN_MS;
}
