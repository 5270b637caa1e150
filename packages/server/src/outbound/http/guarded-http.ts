// The guarded client: judges a URL and the addresses behind it, waits for a slot, and sends the request over a kept
// connection or a new one. DESIGN.md beside this file says why it is made so.

import { createSecureContext, type SecureContext } from 'node:tls';
import type { Clock } from '../../runtime/clock.ts';
import { openTcp, openTls } from './connect.ts';
import { Connection, StaleConnection } from './connection.ts';
import { Course } from './course.ts';
import { faultOf } from './fault-of.ts';
import { OutboundError } from './outbound-error.ts';
import type { OutboundAnswer, OutboundHttp, OutboundRequest } from './outbound-http.ts';
import { Pool } from './pool.ts';
import { type Resolve, systemResolve } from './resolve.ts';
import { judgeAddresses, type Reach, type Target, targetOf } from './target.ts';

export interface OutboundHttpOptions extends Reach {
  readonly clock: Clock;
  /** In PEM: what verifies the certificates of others, in the place of the authorities that the system trusts. */
  readonly authorities?: string | undefined;
  /** The system's, unless given. */
  readonly resolve?: Resolve;
}

/** Below the idle timeout of common servers, so that no request is sent on a connection that is being closed. */
const IDLE_MS = 4000;
const USER_AGENT = 'tallystick';
/** Of judging a URL that is only to be stored. */
const JUDGE_MS = 5000;

export function createOutboundHttp(options: OutboundHttpOptions): OutboundHttp {
  return new GuardedHttp(options);
}

class GuardedHttp implements OutboundHttp {
  readonly #options: OutboundHttpOptions;
  readonly #clock: Clock;
  readonly #resolve: Resolve;
  readonly #pool: Pool;
  readonly #open = new Set<Connection>();
  #context: SecureContext | undefined;

  constructor(options: OutboundHttpOptions) {
    this.#options = options;
    this.#clock = options.clock;
    this.#resolve = options.resolve ?? systemResolve;
    this.#pool = new Pool(options.clock, IDLE_MS);
  }

  async judge(url: string): Promise<string | undefined> {
    const course = new Course(this.#clock);
    const timer = this.#clock.after(JUDGE_MS, () => course.end(course.error('Dns', 'no answer')));
    try {
      await this.#addressesOf(targetOf(url, this.#options), course);
    } catch (error) {
      return error instanceof OutboundError && error.fault === 'NotAllowed' ? error.message : undefined;
    } finally {
      timer.cancel();
    }
  }

  async send(request: OutboundRequest): Promise<OutboundAnswer> {
    const { signal, timeoutMs } = request;
    const target = targetOf(request.url, this.#options);
    const course = new Course(this.#clock);
    const abort = () => course.end(signal!.reason as Error);
    if (signal?.aborted === true) abort();
    signal?.addEventListener('abort', abort);
    const timer = this.#clock.after(timeoutMs, () => course.end(tooLate(target, timeoutMs, course)));
    try {
      return await this.#send(target, request, course);
    } catch (error) {
      throw course.ended ?? faultOf(error, target.url, course);
    } finally {
      timer.cancel();
      signal?.removeEventListener('abort', abort);
    }
  }

  [Symbol.dispose](): void {
    for (const connection of this.#open) connection.close();
  }

  async #send(target: Target, request: OutboundRequest, course: Course): Promise<OutboundAnswer> {
    const sent = { ...request, headers: { 'user-agent': USER_AGENT, ...request.headers } };
    const peer = target.url.origin;
    const kept = this.#pool.take(peer);
    if (kept !== undefined) {
      try {
        return await this.#over(kept, peer, target, sent, course);
      } catch (error) {
        if (!(error instanceof StaleConnection)) throw error;
      }
    }
    return this.#over(await this.#connect(target, course), peer, target, sent, course);
  }

  async #over(
    connection: Connection,
    peer: string,
    target: Target,
    sent: OutboundRequest,
    course: Course,
  ): Promise<OutboundAnswer> {
    try {
      const answer = await connection.send(target, sent, course);
      this.#pool.give(peer, connection);
      return answer;
    } catch (error) {
      connection.close();
      throw error;
    }
  }

  async #connect(target: Target, course: Course): Promise<Connection> {
    const { host, port, isTls } = target;
    const addresses = await this.#addressesOf(target, course);
    course.enter('Connect');
    let socket = await openTcp({ addresses, port, idleMs: IDLE_MS }, course);
    if (isTls) {
      course.enter('Tls');
      socket = await openTls(socket, { host, context: this.#trusted(), idleMs: IDLE_MS }, course);
    }
    const connection = new Connection(socket, this.#clock.monotonicNs());
    this.#open.add(connection);
    connection.onClose(() => {
      this.#open.delete(connection);
      this.#pool.forget(connection);
    });
    return connection;
  }

  async #addressesOf(target: Target, course: Course): Promise<readonly string[]> {
    if (target.isAddress) return [target.host];
    course.enter('Dns');
    const addresses = await course.await(this.#resolve(target.host));
    const refusal = judgeAddresses(target, addresses);
    if (refusal !== undefined) throw course.error('NotAllowed', refusal);
    return addresses;
  }

  #trusted(): SecureContext {
    const { authorities } = this.#options;
    const trusted = authorities === undefined ? {} : { ca: authorities };
    this.#context ??= createSecureContext({ ...trusted, minVersion: 'TLSv1.2' });
    return this.#context;
  }
}

function tooLate({ url }: Target, timeoutMs: number, course: Course): OutboundError {
  return course.error('Timeout', `${url.origin} gave no whole answer within ${timeoutMs} ms`);
}
