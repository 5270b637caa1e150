// Work that must be over in time. When it is not, whoever waits gets the error at once, and the work is told
// through its signal; what it does afterwards is seen by nobody.

import type { Clock } from './clock.ts';

export function withDeadline<T>(
  clock: Clock,
  timeoutMs: number,
  tooLate: () => Error,
  work: (signal: AbortSignal) => Promise<T>,
): Promise<T> {
  const controller = new AbortController();
  return new Promise<T>((resolve, reject) => {
    const timer = clock.after(timeoutMs, () => {
      const error = tooLate();
      reject(error);
      controller.abort(error);
    });
    const settle = <V>(how: (value: V) => void) => {
      return (value: V) => {
        timer.cancel();
        how(value);
      };
    };
    work(controller.signal).then(settle(resolve), settle(reject));
  });
}
