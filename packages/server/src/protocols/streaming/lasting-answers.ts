// Answers that last: a tail of a log, a stream of messages. They are counted, for each tenant, or sender, and for the process, and each
// ends when its reader goes, after a time, and when the service drains; clients come back and go on from where they were.

import { AuditError, LIMITS } from '@tallystick/contract';
import type { Clock } from '../../runtime/clock.ts';

/** Why it ends: over its time, or the service stops. Readers of both may come back. */
export type LastingEnd = 'Over' | 'Draining' | 'Gone';

/** Disposed of when the answer is over. */
export interface LastingAnswer extends Disposable {
  /** Aborted with a LastingEnd as its reason. */
  readonly signal: AbortSignal;
  /** Its reader is gone. */
  leave(): void;
}

export interface LastingLimits {
  readonly perOwnerMax: number;
  /** What the error says that has so many. */
  readonly owner: string;
  readonly max: number;
  readonly ms: number;
}

const LASTING_LIMITS: LastingLimits = {
  perOwnerMax: LIMITS.lastingAnswersPerTenantMax,
  owner: 'tenant',
  max: LIMITS.lastingAnswersMax,
  ms: LIMITS.lastingAnswerMsMax,
};

/** Of those who are asked for no credential: enough for balancers and tools. */
export const STRANGERS_LIMITS: LastingLimits = {
  perOwnerMax: 20,
  owner: 'sender',
  max: 200,
  ms: LIMITS.lastingAnswerMsMax,
};

/** Of all protocols of the process. */
export class LastingAnswers {
  readonly #clock: Clock;
  readonly #draining: AbortSignal;
  readonly #limits: LastingLimits;
  readonly #open = new Set<AbortController>();
  readonly #byOwner = new Map<string, number>();

  constructor(draining: AbortSignal, clock: Clock, limits = LASTING_LIMITS) {
    this.#clock = clock;
    this.#draining = draining;
    this.#limits = limits;
    draining.addEventListener('abort', () => {
      for (const each of this.#open) end(each, 'Draining');
    });
  }

  /** Throws RATE_LIMITED where there are too many, and SERVICE_UNAVAILABLE when the service stops. */
  begin(whose: string): LastingAnswer {
    if (this.#draining.aborted) throw new AuditError('SERVICE_UNAVAILABLE', 'The service is stopping.');
    const { perOwnerMax, owner, max, ms } = this.#limits;
    const ofOwner = this.#byOwner.get(whose) ?? 0;
    if (ofOwner >= perOwnerMax) throw tooMany(`of a ${owner} at a time is ${perOwnerMax}`);
    if (this.#open.size >= max) throw tooMany(`at a time is ${max}`);
    this.#byOwner.set(whose, ofOwner + 1);
    const controller = new AbortController();
    this.#open.add(controller);
    const release = () => {
      timer.cancel();
      if (this.#open.delete(controller)) this.#leave(whose);
    };
    const timer = this.#clock.after(ms, () => {
      end(controller, 'Over');
      release();
    });
    return {
      signal: controller.signal,
      leave: () => end(controller, 'Gone'),
      [Symbol.dispose]: release,
    };
  }

  /** Those that are counted by themselves, and end for the same reasons. */
  apart(limits: LastingLimits): LastingAnswers {
    return new LastingAnswers(this.#draining, this.#clock, limits);
  }

  #leave(whose: string): void {
    const left = (this.#byOwner.get(whose) ?? 1) - 1;
    if (left === 0) this.#byOwner.delete(whose);
    else this.#byOwner.set(whose, left);
  }
}

function end(controller: AbortController, reason: LastingEnd): void {
  controller.abort(reason);
}

function tooMany(what: string): AuditError {
  return new AuditError('RATE_LIMITED', `Too many answers last: the limit ${what}. End another one first.`);
}
