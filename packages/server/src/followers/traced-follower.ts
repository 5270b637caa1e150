// The span of a follower's turn; none of one that found nothing to do, since there are several of those each second.

import type { Clock } from '../runtime/clock.ts';
import { failureOf, type SpanStart, type Tracing } from '../telemetry/tracing.ts';
import type { FollowerWork } from './follower-work.ts';

export function traceFollower(
  name: string,
  work: FollowerWork,
  tracing: Tracing,
  clock: Pick<Clock, 'now'>,
): FollowerWork {
  const start: SpanStart = { name: `turn of ${name}`, kind: 'Internal', under: 'Nothing' };
  return {
    async turn() {
      const beganMs = clock.now();
      try {
        const done = await work.turn();
        const facts = {
          'tallystick.events': done.taken,
          'tallystick.events.set_aside': done.setAside.length,
        };
        if (done.taken > 0) tracing.happened({ ...start, facts }, beganMs);
        return done;
      } catch (error) {
        tracing.happened(start, beganMs, failureOf(error));
        throw error;
      }
    },
  };
}
