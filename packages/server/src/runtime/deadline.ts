// Work that must be done within a time. When the time is over, the caller gets the error that says so, and the
// work is told to stop; nobody sees its later result.

import type { Clock } from './clock.ts';

/** The end of the time for some work, as the work sees it. */
export class Deadline {
  #error: Error | undefined;
  #controller: AbortController | undefined;

  /** The time is over. */
  pass(error: Error): void {
    this.#error = error;
    this.#controller?.abort(error);
  }

  throwIfPassed(): void {
    if (this.#error !== undefined) throw this.#error;
  }

  /** For work that waits. Made when it is asked for: most work looks once, and a signal costs as much as a timer. */
  get signal(): AbortSignal {
    this.#controller ??= new AbortController();
    if (this.#error !== undefined) this.#controller.abort(this.#error);
    return this.#controller.signal;
  }
}

/** Ends the time for some work early. */
export interface Stop {
  readonly signal: AbortSignal;
  readonly error: () => Error;
}

export function withDeadline<T>(
  clock: Clock,
  timeoutMs: number,
  tooLate: () => Error,
  work: (deadline: Deadline) => Promise<T>,
  stop?: Stop,
): Promise<T> {
  const deadline = new Deadline();
  return new Promise<T>((resolve, reject) => {
    const pass = (error: Error) => {
      end();
      reject(error);
      deadline.pass(error);
    };
    const timer = clock.after(timeoutMs, () => pass(tooLate()));
    const stopNow = () => pass(stop!.error());
    const end = () => {
      timer.cancel();
      stop?.signal.removeEventListener('abort', stopNow);
    };
    stop?.signal.addEventListener('abort', stopNow);
    try {
      if (stop?.signal.aborted === true) throw stop.error();
      work(deadline).then(
        (value) => {
          end();
          return resolve(value);
        },
        (error: Error) => {
          end();
          return reject(error);
        },
      );
    } catch (error) {
      // Thrown before there was anything to wait for; thrown on, it rejects as well.
      end();
      throw error;
    }
  });
}

export interface Patience {
  readonly timeoutMs: number;
  readonly tooLate: () => Error;
  /** Once it aborts, `lastMs` are left. */
  readonly stop: AbortSignal;
  readonly lastMs: number;
}

/** Waits for work that was begun before, and may hang: for a time, and hardly any longer once all of it is to stop. */
export function waitFor<T>(
  work: Promise<T>,
  clock: Clock,
  { timeoutMs, tooLate, stop, lastMs }: Patience,
): Promise<T> {
  return new Promise<T>((resolve, reject) => {
    const giveUp = () => {
      end();
      reject(tooLate());
    };
    let timer = clock.after(stop.aborted ? lastMs : timeoutMs, giveUp);
    const hurry = () => {
      timer.cancel();
      timer = clock.after(lastMs, giveUp);
    };
    const end = () => {
      timer.cancel();
      stop.removeEventListener('abort', hurry);
    };
    stop.addEventListener('abort', hurry);
    work.then(resolve, reject).finally(end);
  });
}
