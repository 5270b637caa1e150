// The open connections of a server: which are being answered, which have been refused, and which only rest. Closing
// is never in haste – a connection that is closed under bytes that are still coming takes the answer back – and
// always bounded: the client gets a moment to read the last answer on a connection, and no longer.

import type { IncomingMessage, Server, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import { Server as TlsServer } from 'node:tls';
import type { Clock } from '../../runtime/clock.ts';
import { type Outgoing, UnreadAnswers } from './unread-answers.ts';

/** From the last answer on a connection to its end, when the other side does not end it. */
const LINGER_MS = 2000;

/** From the answer on, for as long as its reader takes it: many times what a slow line needs for the largest. */
const READ_MS_MAX = 60_000;

/** Of all servers of the process: they share its memory. */
const unread = new UnreadAnswers(256 * 1024 * 1024);

/** The answer that is being given on a connection, or was given last; kept on it, since a map of all is slower. */
const ANSWER = Symbol('answer');

/** How many requests of a connection wait for the one before them. */
const WAITING = Symbol('waiting');

type Connection = Socket & { [ANSWER]?: ServerResponse; [WAITING]?: number };

/** How many bytes had come on each connection at some moment. */
export type BytesRead = ReadonlyMap<Socket, number>;

export class Connections {
  readonly #clock: Clock;
  readonly #open = new Set<Socket>();
  readonly #refused = new WeakSet<Duplex>();

  constructor(server: Server, clock: Clock) {
    this.#clock = clock;
    if (server instanceof TlsServer) this.#trackTls(server);
    else server.on('connection', (socket: Socket) => this.#track(socket));
  }

  /** From now on this is what the connection of the request is busy with. */
  answer(request: IncomingMessage, response: ServerResponse): void {
    const connection: Connection = request.socket;
    connection[ANSWER] = response;
  }

  /** The answer that is being given, or was given last. */
  lastAnswer(socket: Socket): ServerResponse | undefined {
    const connection: Connection = socket;
    return connection[ANSWER];
  }

  /** A request waits for the one before it; gives how many do. */
  awaitTurn(socket: Socket): number {
    const connection: Connection = socket;
    connection[WAITING] = (connection[WAITING] ?? 0) + 1;
    return connection[WAITING];
  }

  takeTurn(socket: Socket): void {
    const connection: Connection = socket;
    connection[WAITING] = (connection[WAITING] ?? 0) - 1;
  }

  /** Writes the last that is said on a connection. */
  refuse(socket: Duplex, text: string): void {
    this.#refused.add(socket);
    socket.end(text);
    // Discard what still arrives; otherwise the end would never be seen.
    socket.resume();
    const timer = this.#clock.after(LINGER_MS, () => socket.destroy());
    socket.once('close', () => timer.cancel());
  }

  isRefused(socket: Duplex): boolean {
    return this.#refused.has(socket);
  }

  bytesRead(): BytesRead {
    return new Map([...this.#open].map((socket) => [socket, socket.bytesRead]));
  }

  /** Closes what is not being answered; given what had come before, not what a request may just be coming on. */
  closeResting(before?: BytesRead): void {
    for (const socket of this.#open) {
      if (this.#isAnswering(socket) || (before !== undefined && this.#isArriving(socket, before))) continue;
      socket.destroy();
    }
  }

  /** Something has come that is no request yet: on a new connection at all, on one that was used before since then. */
  #isArriving(socket: Socket, before: BytesRead): boolean {
    const isNew = this.lastAnswer(socket) === undefined && !this.#refused.has(socket);
    return socket.bytesRead !== (isNew ? 0 : before.get(socket));
  }

  /** An answer that has been handed over is still being given while its reader takes it. */
  #isAnswering(socket: Socket): boolean {
    const answer = this.lastAnswer(socket);
    return answer !== undefined && !answer.writableFinished;
  }

  #track(socket: Socket): void {
    this.#open.add(socket);
    socket.once('close', () => this.#open.delete(socket));
  }

  /** Until they have shaken hands, Node knows of a connection only the socket below, and nothing closes it. */
  #trackTls(server: TlsServer): void {
    const greeting = new Map<string, Socket>();
    const nameOf = ({ remoteAddress, remotePort }: Socket) => `${remoteAddress} ${remotePort}`;
    server.on('connection', (socket: Socket) => {
      const name = nameOf(socket);
      greeting.set(name, socket);
      this.#track(socket);
      socket.once('close', () => greeting.delete(name));
    });
    server.on('secureConnection', (socket) => {
      const below = greeting.get(nameOf(socket));
      if (below !== undefined) this.#open.delete(below);
      this.#track(socket);
    });
  }
}

/**
 * The rest of a body that nobody reads may go by, so that the next request on the connection can be read; when it
 * takes its time, the connection is closed.
 */
export function closeUnlessComplete(request: IncomingMessage, response: ServerResponse, clock: Clock): void {
  response.once('finish', () => {
    if (request.complete || request.destroyed) return;
    const timer = clock.after(LINGER_MS, () => request.socket.destroy());
    request.once('close', () => timer.cancel());
  });
}

/** An answer that its reader does not take, or takes drop by drop, is held in memory meanwhile: not for ever. */
export function closeUnlessRead(response: Outgoing, clock: Clock): void {
  unread.hold(response);
  const timer = clock.after(READ_MS_MAX, () => response.destroy());
  response.once('close', () => timer.cancel());
}
