// Counts that several nodes share in Redis. Nobody waits for a Redis that is away: then each node counts for itself, and says so.

import { createClient, type RedisClientType } from '@redis/client';
import { AuditError } from '@tallystick/contract';
import type { Count, Counter, CounterOf } from '../rates/counter.ts';
import type { Clock } from '../runtime/clock.ts';
import type { Telemetry } from '../telemetry.ts';

export interface RedisCounters extends Disposable {
  of(limiter: string): Counter;
  /** Whether counts are shared now. */
  isShared(): boolean;
}

export interface RedisCountersParts {
  readonly url: string;
  /** Count while Redis is away. */
  readonly here: CounterOf;
  readonly clock: Clock;
  readonly telemetry: Telemetry;
}

const PREFIX = 'tallystick:rate:';
/** A request waits no longer for its count; Redis answers in a fraction of a millisecond. */
const ANSWER_MS_MAX = 250;
/** After a failure, so long nobody asks. */
const PAUSE_MS = 1000;
const RECONNECT_MS_MAX = 5000;

/** Counts, and begins the window with the first. A key that never ends, of a limiter that was set otherwise before, gets an end. */
const ADD = `
local used = redis.call('INCR', KEYS[1])
local left = redis.call('PTTL', KEYS[1])
if ARGV[1] ~= '0' and left < 0 then
  redis.call('PEXPIRE', KEYS[1], ARGV[1])
  left = tonumber(ARGV[1])
end
return {used, left}`;

export function createRedisCounters(parts: RedisCountersParts): RedisCounters {
  return new SharedCounters(parts);
}

class SharedCounters implements RedisCounters {
  readonly #client: RedisClientType;
  readonly #parts: RedisCountersParts;
  #pausedUntilNs = 0;
  #isAway = false;

  constructor(parts: RedisCountersParts) {
    this.#parts = parts;
    const client: RedisClientType = createClient({
      url: parts.url,
      // What cannot be sent is not kept for later.
      disableOfflineQueue: true,
      socket: {
        connectTimeout: 2000,
        reconnectStrategy: (retries) => Math.min(100 * 2 ** retries, RECONNECT_MS_MAX),
      },
    });
    client.on('error', (error: Error) => this.#noteAway(error));
    this.#client = client;
    // It tries again for as long as it must.
    client.connect().catch((error: unknown) => this.#noteAway(error));
  }

  isShared(): boolean {
    return this.#client.isReady && this.#parts.clock.monotonicNs() >= this.#pausedUntilNs;
  }

  of(limiter: string): Counter {
    const here = this.#parts.here(limiter);
    const prefix = `${PREFIX}${limiter}:`;
    return {
      add: (partition, windowMs) =>
        this.isShared() ? this.#add(prefix, partition, windowMs, here) : here.add(partition, windowMs),
      clear: () => this.#clear(prefix, here),
    };
  }

  async #add(prefix: string, partition: string, windowMs: number | undefined, here: Counter): Promise<Count> {
    try {
      const answer = await this.#inTime(
        this.#client.eval(ADD, { keys: [prefix + partition], arguments: [String(Math.ceil(windowMs ?? 0))] }),
      );
      const [used, left] = answer as [number, number];
      this.#noteBack();
      return { used, endsInMs: windowMs === undefined || left < 0 ? undefined : left };
    } catch (error) {
      this.#noteAway(error);
      return here.add(partition, windowMs);
    }
  }

  async #clear(prefix: string, here: Counter): Promise<void> {
    await here.clear();
    try {
      if (!this.isShared()) throw new Error('Redis is away');
      for await (const keys of this.#client.scanIterator({ MATCH: `${prefix}*`, COUNT: 1000 }))
        if (keys.length > 0) await this.#inTime(this.#client.unlink(keys));
    } catch (error) {
      this.#noteAway(error);
      const message = 'Redis is away: the requests that it has counted cannot be forgotten now.';
      throw new AuditError('SERVICE_UNAVAILABLE', message, { cause: error });
    }
  }

  [Symbol.dispose](): void {
    this.#client.destroy();
  }

  #inTime<T>(answer: Promise<T>): Promise<T> {
    return new Promise((resolve, reject) => {
      const timer = this.#parts.clock.after(ANSWER_MS_MAX, () =>
        reject(new Error(`Redis did not answer within ${ANSWER_MS_MAX} ms`)),
      );
      answer.then(resolve, reject).finally(() => timer.cancel());
    });
  }

  #noteAway(error: unknown): void {
    const { clock, telemetry } = this.#parts;
    this.#pausedUntilNs = clock.monotonicNs() + PAUSE_MS * 1e6;
    if (this.#isAway) return;
    this.#isAway = true;
    // Its address is a secret.
    const reason = error instanceof Error ? error.name : 'unknown';
    telemetry.warn('Redis is away: each node counts requests for itself', { reason });
  }

  #noteBack(): void {
    if (!this.#isAway) return;
    this.#isAway = false;
    this.#parts.telemetry.info('Redis is back: counts are shared again', {});
  }
}
