// Answers that last: a tail of a log, a stream of messages. They are counted, for each tenant and for the process, and each
// ends when its reader goes, after a time, and when the service drains; clients come back and go on from where they were.

import { AuditError, LIMITS, type TenantId } from '@tallystick/contract';
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
  readonly perTenantMax: number;
  readonly max: number;
  readonly ms: number;
}

const LASTING_LIMITS: LastingLimits = {
  perTenantMax: LIMITS.lastingAnswersPerTenantMax,
  max: LIMITS.lastingAnswersMax,
  ms: LIMITS.lastingAnswerMsMax,
};

/** Of all protocols of the process. */
export class LastingAnswers {
  readonly #clock: Clock;
  readonly #draining: AbortSignal;
  readonly #limits: LastingLimits;
  readonly #open = new Set<AbortController>();
  readonly #byTenant = new Map<TenantId, number>();

  constructor(draining: AbortSignal, clock: Clock, limits = LASTING_LIMITS) {
    this.#clock = clock;
    this.#draining = draining;
    this.#limits = limits;
    draining.addEventListener('abort', () => {
      for (const each of this.#open) end(each, 'Draining');
    });
  }

  /** Throws RATE_LIMITED where there are too many, and SERVICE_UNAVAILABLE when the service stops. */
  begin(tenant: TenantId): LastingAnswer {
    if (this.#draining.aborted) throw new AuditError('SERVICE_UNAVAILABLE', 'The service is stopping.');
    const { perTenantMax, max, ms } = this.#limits;
    const ofTenant = this.#byTenant.get(tenant) ?? 0;
    if (ofTenant >= perTenantMax) throw tooMany(`of a tenant at a time is ${perTenantMax}`);
    if (this.#open.size >= max) throw tooMany(`at a time is ${max}`);
    this.#byTenant.set(tenant, ofTenant + 1);
    const controller = new AbortController();
    this.#open.add(controller);
    const release = () => {
      timer.cancel();
      if (this.#open.delete(controller)) this.#leave(tenant);
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

  #leave(tenant: TenantId): void {
    const left = (this.#byTenant.get(tenant) ?? 1) - 1;
    if (left === 0) this.#byTenant.delete(tenant);
    else this.#byTenant.set(tenant, left);
  }
}

function end(controller: AbortController, reason: LastingEnd): void {
  controller.abort(reason);
}

function tooMany(what: string): AuditError {
  return new AuditError('RATE_LIMITED', `Too many answers last: the limit ${what}. End another one first.`);
}
