// A name server on loopback (RFC 1035, over UDP) that knows the names it is given, and can be slow, silent or broken for some of them.

import { createSocket, type Socket } from 'node:dgram';
import { once } from 'node:events';
import { isIPv4 } from 'node:net';
import { addressBytes } from './address-bytes.ts';

export interface NamedAnswer {
  readonly addresses: readonly string[];
  /** Before it answers; those of a family only, where it is given by `AAAA` or `A`. */
  readonly delayMs?: Readonly<Partial<Record<'A' | 'AAAA', number>>>;
  /** SERVFAIL. */
  readonly fails?: boolean;
  /** It never answers. */
  readonly isSilent?: boolean;
}

const TYPES: Readonly<Record<number, 'A' | 'AAAA'>> = { 1: 'A', 28: 'AAAA' };

export class NameServer implements AsyncDisposable {
  readonly #socket: Socket = createSocket('udp4');
  readonly names: Map<string, NamedAnswer>;
  /** `name type`, in the order in which they came. */
  readonly questions: string[] = [];

  private constructor(names: Readonly<Record<string, NamedAnswer>>) {
    this.names = new Map(Object.entries(names));
    this.#socket.on('message', (message, { port, address }) => {
      const answer = this.#answer(message);
      if (answer === undefined) return;
      setTimeout(() => this.#socket.send(answer.bytes, port, address), answer.delayMs).unref();
    });
  }

  static async start(names: Readonly<Record<string, NamedAnswer>>): Promise<NameServer> {
    const server = new NameServer(names);
    server.#socket.bind(0, '127.0.0.1');
    await once(server.#socket, 'listening');
    return server;
  }

  /** As resolvers want it. */
  get address(): string {
    return `127.0.0.1:${this.#socket.address().port}`;
  }

  #answer(message: Buffer): { readonly bytes: Buffer; readonly delayMs: number } | undefined {
    let at = 12;
    const labels: string[] = [];
    for (let length = message[at]!; length > 0; length = message[at]!) {
      labels.push(message.subarray(at + 1, at + 1 + length).toString('latin1'));
      at += 1 + length;
    }
    const type = TYPES[message.readUInt16BE(at + 1)];
    const question = message.subarray(12, at + 5);
    const name = labels.join('.').toLowerCase();
    this.questions.push(`${name} ${type}`);
    const known = this.names.get(name);
    if (known?.isSilent === true) return undefined;
    const addresses = (known?.addresses ?? []).filter((each) => isIPv4(each) === (type === 'A'));
    const code = known === undefined ? 3 : known.fails === true ? 2 : 0;
    const head = Buffer.alloc(12);
    message.copy(head, 0, 0, 2);
    head.writeUInt16BE(0x8180 + code, 2);
    head.writeUInt16BE(1, 4);
    head.writeUInt16BE(addresses.length, 6);
    const bytes = Buffer.concat([head, question, ...addresses.map(recordOf)]);
    return { bytes, delayMs: (type !== undefined && known?.delayMs?.[type]) || 0 };
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#socket.close();
    await once(this.#socket, 'close');
  }
}

/** For the name of the question, for a minute. */
function recordOf(address: string): Buffer {
  const data = addressBytes(address);
  const type = data.length === 4 ? 1 : 28;
  return Buffer.concat([Buffer.from([0xc0, 12, 0, type, 0, 1, 0, 0, 0, 60, 0, data.length]), data]);
}
