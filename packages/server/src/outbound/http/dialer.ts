// Opens connections: looks a name up, judges what it leads to, and connects to that, straight or through a forward proxy. The address
// of the proxy is the operator's choice and is not judged; where it is to lead is judged like everything.

import type { Socket } from 'node:net';
import type { SecureContext } from 'node:tls';
import type { Clock } from '../../runtime/clock.ts';
import { openTcp, openTls } from './connect.ts';
import { Connection } from './connection.ts';
import type { Course } from './course.ts';
import { type Resolve, systemResolve } from './resolve.ts';
import { judgeAddresses, type Target } from './target.ts';
import { TlsContexts, type TlsMaterial } from './tls-contexts.ts';
import { openTunnel } from './tunnel.ts';

export interface DialerOptions {
  readonly clock: Clock;
  /** In PEM: what verifies the certificates of others, in the place of the authorities that the system trusts. */
  readonly authorities?: string | undefined;
  /** The system's, unless given. */
  readonly resolve?: Resolve;
  /** A forward proxy, with its credentials if it wants any: `http://user:password@proxy.example:3128`. */
  readonly proxy?: string | undefined;
}

export interface Dialing {
  readonly target: Target;
  readonly tls: TlsMaterial | undefined;
  /** The name of `tls`. */
  readonly material: string;
}

export class Dialer {
  readonly #options: DialerOptions;
  readonly #idleMs: number;
  readonly #resolve: Resolve;
  readonly #proxy: URL | undefined;
  readonly #contexts: TlsContexts;

  constructor(options: DialerOptions, idleMs: number) {
    const { clock, resolve = systemResolve, proxy } = options;
    this.#options = options;
    this.#idleMs = idleMs;
    this.#resolve = resolve;
    this.#proxy = proxy === undefined ? undefined : new URL(proxy);
    this.#contexts = new TlsContexts(clock);
  }

  /** Rejects with OutboundError where one of them must not be connected to, and with what a resolver says. */
  async addressesOf(target: Target, course: Course): Promise<readonly string[]> {
    if (target.isAddress) return [target.host];
    course.enter('Dns');
    const addresses = await course.await(this.#resolve(target.host));
    const refusal = judgeAddresses(target, addresses);
    if (refusal !== undefined) throw course.error('NotAllowed', refusal);
    return addresses;
  }

  async connect({ target, tls, material }: Dialing, course: Course): Promise<Connection> {
    const { host, port, isTls } = target;
    const context = isTls ? this.#contextFor(material, tls, course) : undefined;
    const addresses = await this.addressesOf(target, course);
    course.enter('Connect');
    const idleMs = this.#idleMs;
    let socket =
      this.#proxy === undefined
        ? await openTcp({ addresses, port, idleMs }, course)
        : await this.#through(this.#proxy, addresses[0]!, port, course);
    if (context !== undefined) {
      course.enter('Tls');
      socket = await openTls(socket, { host, context, idleMs }, course);
    }
    return new Connection(socket, this.#options.clock.monotonicNs());
  }

  async #through(proxy: URL, address: string, port: number, course: Course): Promise<Socket> {
    course.isAtProxy = true;
    let socket: Socket;
    try {
      socket = await this.#reach(proxy, course);
    } catch (error) {
      throw course.ended ?? course.error('Proxy', 'the forward proxy cannot be reached', error);
    }
    course.isAtProxy = false;
    return openTunnel({ socket, proxy, address, port }, course);
  }

  async #reach(proxy: URL, course: Course): Promise<Socket> {
    const isTls = proxy.protocol === 'https:';
    const host = proxy.hostname.replace(/^\[|\]$/g, '');
    const port = proxy.port === '' ? (isTls ? 443 : 80) : Number(proxy.port);
    const idleMs = this.#idleMs;
    const socket = await openTcp(
      { addresses: await course.await(systemResolve(host)), port, idleMs },
      course,
    );
    if (!isTls) return socket;
    const context = this.#contextFor('', undefined, course);
    return openTls(socket, { host, context, idleMs }, course);
  }

  #contextFor(name: string, tls: TlsMaterial | undefined, course: Course): SecureContext {
    try {
      return this.#contexts.for(name, { ...tls, ca: tls?.ca ?? this.#options.authorities });
    } catch (error) {
      throw course.error('Tls', 'the certificates or the key for this connection cannot be used', error);
    }
  }
}
