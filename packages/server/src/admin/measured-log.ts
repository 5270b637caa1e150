// Wraps the log to measure each commit: how long it took, and how many events it made durable. Notices are not counted:
// nobody has sent them. Who waits for the growth of a log is told of both.

import { KINDS } from '@tallystick/evidence';
import type { Clock } from '../runtime/clock.ts';
import type { AppendOutcome, AppendRequest, LogWriter } from '../streams/log.ts';
import type { LogGrowth } from './log-growth.ts';
import type { Meter } from './meter.ts';

export type Appender = Pick<LogWriter, 'append' | 'probe'>;

export function measureLog(
  log: Appender,
  meter: Pick<Meter, 'committed' | 'accepted'>,
  growth: Pick<LogGrowth, 'grew'>,
  clock: Pick<Clock, 'monotonicNs'>,
): Appender {
  return {
    async append(requests, now, onLocked) {
      const beganNs = clock.monotonicNs();
      const results = await log.append(requests, now, onLocked);
      meter.committed(clock.monotonicNs() - beganNs);
      for (const [i, request] of requests.entries()) {
        const events = eventsIn(request, results[i]);
        if (events > 0) meter.accepted(request.tenant, events);
        if (results[i]?.status === 'Done') growth.grew(request.tenant);
      }
      return results;
    },
    probe: () => log.probe(),
  };
}

function eventsIn({ drafts }: AppendRequest, result: AppendOutcome | undefined): number {
  if (result?.status !== 'Done') return 0;
  let events = 0;
  for (const [i, { kind }] of drafts.entries()) {
    if (kind === KINDS.event && result.outcomes[i]?.status === 'Appended') events += 1;
  }
  return events;
}
