// How far a request has come, how long each phase took, and the end that may come to it from outside.

import type { Clock } from '../../runtime/clock.ts';
import {
  OutboundError,
  type OutboundFault,
  type OutboundPhase,
  type OutboundTimings,
} from './outbound-error.ts';

type Writable<T> = { -readonly [Name in keyof T]: T[Name] };
type Timed = 'Wait' | 'Dns' | 'Connect' | 'Tls' | 'FirstByte' | 'Body';

export class Course {
  /** Connecting to a forward proxy: nothing has been asked of the peer. */
  isAtProxy = false;
  readonly #clock: Clock;
  readonly #spentNs: Record<Timed, number | undefined> = {
    Wait: undefined,
    Dns: undefined,
    Connect: undefined,
    Tls: undefined,
    FirstByte: undefined,
    Body: undefined,
  };
  #sinceNs: number;
  #phase: Timed = 'Wait';
  #end: Error | undefined;
  #stop: ((error: Error) => void) | undefined;

  constructor(clock: Clock) {
    this.#clock = clock;
    this.#sinceNs = clock.monotonicNs();
  }

  get phase(): OutboundPhase {
    return this.#phase;
  }

  /** Set once it was told to end. */
  get ended(): Error | undefined {
    return this.#end;
  }

  enter(phase: Timed): void {
    this.#settle();
    this.#phase = phase;
  }

  #settle(): void {
    const nowNs = this.#clock.monotonicNs();
    const spent = this.#spentNs[this.#phase];
    this.#spentNs[this.#phase] = (spent ?? 0) + nowNs - this.#sinceNs;
    this.#sinceNs = nowNs;
  }

  timings(): OutboundTimings {
    this.#settle();
    const { Wait = 0, Dns, Connect, Tls, FirstByte, Body = 0 } = this.#spentNs;
    const total = (Dns ?? 0) + (Connect ?? 0) + (Tls ?? 0) + (FirstByte ?? 0) + Body;
    const timings: Writable<OutboundTimings> = { waitMs: milliseconds(Wait), totalMs: milliseconds(total) };
    if (Dns !== undefined) timings.dnsMs = milliseconds(Dns);
    if (Connect !== undefined) timings.connectMs = milliseconds(Connect);
    if (Tls !== undefined) timings.tlsMs = milliseconds(Tls);
    if (FirstByte !== undefined) timings.firstByteMs = milliseconds(FirstByte);
    return timings;
  }

  error(fault: OutboundFault, message: string, cause?: unknown): OutboundError {
    const options = cause === undefined ? {} : { cause };
    return new OutboundError(fault, message, { phase: this.#phase, timings: this.timings(), ...options });
  }

  /** The first end counts. */
  end(error: Error): void {
    if (this.#end !== undefined) return;
    this.#end = error;
    this.#stop?.(error);
  }

  /** For work that knows no way to be stopped: its result is not waited for once the end has come. */
  await<T>(work: Promise<T>): Promise<T> {
    return this.during((succeeded, failed) => {
      work.then(succeeded, failed);
      return () => {};
    });
  }

  /** `begin` is given the two ways in which its work can be over, and gives what stops it when the end comes first. */
  during<T>(begin: (done: (value: T) => void, failed: (error: unknown) => void) => () => void): Promise<T> {
    if (this.#end !== undefined) return Promise.reject(this.#end);
    return new Promise((resolve, reject) => {
      let isOver = false;
      const isFirst = () => {
        if (isOver) return false;
        isOver = true;
        this.#stop = undefined;
        return true;
      };
      const stopWork = begin(
        (value) => isFirst() && resolve(value),
        (error) => isFirst() && reject(this.#end ?? (error as Error)),
      );
      if (isOver) return;
      this.#stop = (error) => {
        if (!isFirst()) return;
        reject(error);
        stopWork();
      };
    });
  }
}

function milliseconds(ns: number): number {
  return Math.round(ns / 1000) / 1000;
}
