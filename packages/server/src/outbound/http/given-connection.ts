// Hands one connection to the requests that are made for it, where Node's own agent would look for one, or open one.

import type { ClientRequest } from 'node:http';
import type { Socket } from 'node:net';
import { Agent } from '../../runtime/node-http.ts';

export class GivenConnection extends Agent {
  readonly #socket: Socket;

  constructor(socket: Socket) {
    super({ keepAlive: true });
    this.#socket = socket;
  }

  addRequest(request: ClientRequest): void {
    request.onSocket(this.#socket);
  }
}
