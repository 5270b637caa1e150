// Watches whether a follower keeps up with the log. One that hangs or fails, or leaves out a log that it
// cannot take, is known by what it does not do.

import type { Finding, Watch } from '../admin/watch.ts';
import type { Telemetry } from '../telemetry.ts';
import type { Follower } from './follower.ts';

export interface FollowerWatchParts {
  readonly follower: Pick<Follower, 'name' | 'progress'>;
  /** What is behind then, as the subject of a sentence: `Lists and searches`. */
  readonly subject: string;
  readonly lagMsMax: number;
  readonly telemetry: Pick<Telemetry, 'info' | 'warn'>;
}

export function watchFollower({ follower, subject, lagMsMax, telemetry }: FollowerWatchParts): Watch {
  let state: 'KeepsUp' | 'Behind' | 'Stopped' = 'KeepsUp';
  const { name } = follower;
  const limit = `${lagMsMax / 1000} s`;
  return {
    name: `the lag of ${name}`,
    measure() {
      const { lagMs, pendingEvents, turnMs, stillMs, worst } = follower.progress();
      const before = state;
      // It must have caught up well before it counts as sound, so that its state does not flap.
      if (lagMs <= (before === 'KeepsUp' ? lagMsMax : lagMsMax / 2)) state = 'KeepsUp';
      else state = Math.max(turnMs, stillMs) > lagMsMax ? 'Stopped' : 'Behind';
      if (state === before) return;
      const facts = { tenant: worst, pendingEvents, lagMs, turnMs };
      if (state === 'KeepsUp') telemetry.info(`${name} has caught up with the log`);
      else if (state === 'Behind') telemetry.warn(`${name} is behind the log`, facts);
      else telemetry.warn(`${name} stands still while the log grows`, facts);
    },
    findings(): readonly Finding[] {
      if (state === 'KeepsUp') return [];
      const description =
        state === 'Behind'
          ? `${subject} are more than ${limit} behind the log, and catch up: wait, and if it lasts give the service more processor or disk.`
          : `${subject} have stood still for more than ${limit} while the log grows: see the diagnostics, and restart the service if they name no cause.`;
      return [{ status: 'Degraded', description }];
    },
  };
}
