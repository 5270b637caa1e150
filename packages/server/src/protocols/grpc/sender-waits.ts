// How long the sender of a call waits: until its own time is over, or it goes away. The work stops then.

import type { Clock } from '../../runtime/clock.ts';
import type { Exchange } from '../http/mount.ts';

export interface Wait extends Disposable {
  readonly gone: AbortSignal;
  /** Whether the sender's time was over first. */
  isLate(): boolean;
}

export function waitOf(
  { request }: Pick<Exchange, 'request'>,
  timeoutMs: number | undefined,
  clock: Clock,
): Wait {
  const controller = new AbortController();
  let late = false;
  const leave = () => controller.abort();
  const end = () => {
    late = true;
    leave();
  };
  // What is under a millisecond is over by now.
  if (timeoutMs !== undefined && timeoutMs < 1) end();
  const timer = timeoutMs === undefined || late ? undefined : clock.after(timeoutMs, end);
  request.once('aborted', leave);
  return {
    gone: controller.signal,
    isLate: () => late,
    [Symbol.dispose]: () => {
      timer?.cancel();
      request.removeListener('aborted', leave);
    },
  };
}
