// The guarded client: judges a URL and the addresses behind it, waits for a slot, and sends the request over a kept
// connection or a new one. DESIGN.md beside this file says why it is made so.

import type { Clock } from '../../runtime/clock.ts';
import { type Connection, StaleConnection } from './connection.ts';
import { Course } from './course.ts';
import { Dialer, type DialerOptions } from './dialer.ts';
import { faultOf } from './fault-of.ts';
import { OutboundError } from './outbound-error.ts';
import type { OutboundAnswer, OutboundHttp, OutboundRequest } from './outbound-http.ts';
import { Pool } from './pool.ts';
import { type SlotLimits, Slots } from './slots.ts';
import { type Reach, type Target, targetOf } from './target.ts';
import { nameOfMaterial } from './tls-contexts.ts';

export interface OutboundHttpOptions extends Reach, DialerOptions {
  readonly limits?: Partial<SlotLimits>;
}

const LIMITS: SlotLimits = { slotsMax: 1000, slotsPerOriginMax: 50, waitMs: 5000 };
/** Below the idle timeout of common servers, so that no request is sent on a connection that is being closed. */
const IDLE_MS = 4000;
const TARGETS_MAX = 1000;
/** Somebody waits for a URL to be stored; it is judged again when it is used. */
const JUDGE_MS = 2000;

export function createOutboundHttp(options: OutboundHttpOptions): OutboundHttp {
  return new GuardedHttp(options);
}

/** Where a request goes, and who shares its connections. */
interface Sending {
  readonly target: Target;
  readonly request: OutboundRequest;
  /** The origin, and the name of the TLS material. */
  readonly peer: string;
  readonly material: string;
  readonly course: Course;
}

class GuardedHttp implements OutboundHttp {
  readonly #options: OutboundHttpOptions;
  readonly #clock: Clock;
  readonly #limits: SlotLimits;
  readonly #slots: Slots;
  readonly #pool: Pool;
  readonly #dialer: Dialer;
  readonly #targets = new Map<string, Target>();
  readonly #open = new Set<Connection>();
  readonly #underWay = new Set<Course>();

  constructor(options: OutboundHttpOptions) {
    const { clock, limits } = options;
    this.#options = options;
    this.#clock = clock;
    this.#limits = { ...LIMITS, ...limits };
    this.#slots = new Slots(clock, this.#limits);
    this.#pool = new Pool(clock, IDLE_MS);
    this.#dialer = new Dialer(options, IDLE_MS);
  }

  judgeAsWritten(url: string): string | undefined {
    try {
      targetOf(url, this.#options);
      return undefined;
    } catch (error) {
      if (error instanceof OutboundError) return error.message;
      throw error;
    }
  }

  async judge(url: string): Promise<string | undefined> {
    const course = new Course(this.#clock);
    const timer = this.#clock.after(JUDGE_MS, () => course.end(course.error('Dns', 'no answer')));
    try {
      await this.#dialer.addressesOf(targetOf(url, this.#options), course);
    } catch (error) {
      return error instanceof OutboundError && error.fault === 'NotAllowed' ? error.message : undefined;
    } finally {
      timer.cancel();
    }
  }

  async send(request: OutboundRequest): Promise<OutboundAnswer> {
    const { signal, party } = request;
    const target = this.#targetOf(request.url);
    const { origin } = target.url;
    const sharer = party === undefined ? origin : `${origin} for ${party}`;
    const material = target.isTls ? nameOfMaterial(request.tls) : '';
    const course = new Course(this.#clock);
    const abort = () => course.end(signal!.reason as Error);
    if (signal?.aborted === true) abort();
    signal?.addEventListener('abort', abort);
    this.#underWay.add(course);
    try {
      const wait = this.#slots.take(sharer, course);
      if (wait !== undefined) await wait;
      try {
        return await this.#inTime({ target, request, peer: origin + material, material, course });
      } finally {
        this.#slots.give(sharer);
      }
    } catch (error) {
      throw course.ended ?? faultOf(error, target.url, course);
    } finally {
      this.#underWay.delete(course);
      signal?.removeEventListener('abort', abort);
    }
  }

  /** The rules never change, so a URL that is asked again and again is read once. */
  #targetOf(url: string): Target {
    const known = this.#targets.get(url);
    if (known !== undefined) return known;
    const target = targetOf(url, this.#options);
    if (this.#targets.size >= TARGETS_MAX) this.#targets.clear();
    this.#targets.set(url, target);
    return target;
  }

  [Symbol.dispose](): void {
    for (const course of this.#underWay) course.end(course.error('Reset', 'the client was closed'));
    for (const connection of this.#open) connection.close();
  }

  async #inTime(sending: Sending): Promise<OutboundAnswer> {
    const { target, request, peer, course } = sending;
    const { timeoutMs } = request;
    const timer = this.#clock.after(timeoutMs, () => course.end(tooLate(target, timeoutMs, course)));
    try {
      const kept = this.#pool.take(peer);
      if (kept !== undefined) {
        const answer = await this.#over(kept, sending).catch(unlessStale);
        if (answer !== undefined) return answer;
      }
      return await this.#over(await this.#connect(sending), sending);
    } finally {
      timer.cancel();
    }
  }

  async #over(connection: Connection, { target, request, peer, course }: Sending): Promise<OutboundAnswer> {
    try {
      const answer = await connection.send(target, request, course);
      this.#pool.give(peer, connection);
      return answer;
    } catch (error) {
      connection.close();
      throw error;
    }
  }

  async #connect({ target, request, material, course }: Sending): Promise<Connection> {
    this.#makeRoom();
    const connection = await this.#dialer.connect({ target, tls: request.tls, material }, course);
    this.#open.add(connection);
    connection.onClose(() => {
      this.#open.delete(connection);
      this.#pool.forget(connection);
    });
    return connection;
  }

  /** Connections that rest and those in use are, together, no more than there are slots. */
  #makeRoom(): void {
    if (this.#pool.size + this.#slots.busy > this.#limits.slotsMax) this.#pool.closeOldest();
  }
}

function unlessStale(error: unknown): undefined {
  if (!(error instanceof StaleConnection)) throw error;
}

function tooLate({ url }: Target, timeoutMs: number, course: Course): OutboundError {
  if (course.isAtProxy)
    return course.error('Proxy', `the forward proxy was not reached within ${timeoutMs} ms`);
  return course.error('Timeout', `${url.origin} gave no whole answer within ${timeoutMs} ms`);
}
