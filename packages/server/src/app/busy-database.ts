// Waits at the start for a database that is there, but has no connection left or is still starting; meanwhile callers of the
// service are told to come again. A database that is not there, or refuses us, is an error at once, so that the operator
// sees it.

import { type Clock, wait } from '../runtime/clock.ts';
import { StoppedError } from '../start-error.ts';
import type { Telemetry } from '../telemetry.ts';

const PATIENCE_MS = 300_000;
const PAUSE_MS = 500;
/** Its error codes: too many connections, no memory, no room; it starts or stops; it is a standby. */
const BUSY = /^(53|57P03|57P01|25006)/;

export interface BusyParts {
  readonly clock: Clock;
  readonly telemetry: Pick<Telemetry, 'warn'>;
  /** Aborted when the service is told to stop. */
  readonly stopping?: AbortSignal | undefined;
}

/** The result of `work`, which is tried again while the database is busy and must leave nothing behind when it fails. */
export async function whileBusy<T>(parts: BusyParts, work: () => Promise<T>): Promise<T> {
  const { clock, telemetry, stopping } = parts;
  const endNs = clock.monotonicNs() + PATIENCE_MS * 1e6;
  for (let attempt = 0; ; attempt++) {
    try {
      return await work();
    } catch (error) {
      const reason = busyReason(error);
      if (reason === undefined || clock.monotonicNs() > endNs) throw error;
      if (attempt === 0) telemetry.warn('the database is busy; the start waits for it', { cause: reason });
      await wait(clock, PAUSE_MS, stopping);
      if (stopping?.aborted)
        throw new StoppedError('told to stop while the database was busy', { cause: error });
    }
  }
}

/** The message of the database, if it is busy or starting; undefined for any other error. */
function busyReason(error: unknown): string | undefined {
  if (!(error instanceof Error)) return undefined;
  if ('code' in error && typeof error.code === 'string' && BUSY.test(error.code)) return error.message;
  return busyReason(error.cause);
}
