// An address that leads to a server, and can lead to another one later, as a virtual one does; or to nobody, without a word.

import { once } from 'node:events';
import { connect, createServer, type Server, type Socket } from 'node:net';

export class Relay implements AsyncDisposable {
  readonly #server: Server;
  readonly #sockets = new Set<Socket>();
  #to: number | undefined;
  #isHeld = false;
  port = 0;

  private constructor() {
    this.#server = createServer((from) => this.#relay(from));
  }

  static async open(to: number): Promise<Relay> {
    const relay = new Relay();
    relay.#to = to;
    relay.#server.listen(0, '127.0.0.1');
    await once(relay.#server, 'listening');
    const address = relay.#server.address();
    if (address === null || typeof address === 'string') throw new Error('there is no port');
    relay.port = address.port;
    return relay;
  }

  /** Cuts off the open connections; new ones get through. */
  leadTo(port: number): void {
    this.#to = port;
    this.cut();
  }

  /** Nothing goes through any more, and nobody is told: what is on its way stays here. */
  hold(): void {
    this.#isHeld = true;
    for (const socket of this.#sockets) socket.pause();
  }

  cut(): void {
    for (const socket of this.#sockets) socket.destroy();
  }

  #relay(from: Socket): void {
    const to = connect(this.#to!, '127.0.0.1');
    for (const [one, other] of [
      [from, to],
      [to, from],
    ] as const) {
      this.#sockets.add(one);
      one.setNoDelay(true);
      one.on('data', (bytes) => {
        // What had arrived already when it was held is not passed on either.
        if (!this.#isHeld) other.write(bytes);
      });
      one.on('error', () => {});
      one.on('close', () => {
        this.#sockets.delete(one);
        other.destroy();
      });
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.cut();
    this.#server.close();
    await once(this.#server, 'close');
  }
}
