// Watches the wall clock of this machine: whether it was set back while the service runs, and how far it is from the clock of the
// database, which all nodes share. Times in a log stand still until a clock that was set back has caught up.

import type { Clock } from '../runtime/clock.ts';
import type { Telemetry } from '../telemetry.ts';
import type { Finding, Watch } from './watch.ts';

export interface ClockWatchParts {
  readonly clock: Pick<Clock, 'now' | 'monotonicNs'>;
  /** Of the database; undefined: there is none with a clock of its own. */
  readonly storeNowMs: () => Promise<number | undefined>;
  readonly offsetMsMax: number;
  readonly telemetry: Pick<Telemetry, 'info' | 'warn'>;
}

export interface ClockWatch extends Watch {
  /** How far this clock is ahead of the database's, at least; undefined: not known. */
  offsetMs(): number | undefined;
}

/** A jump back is told of for so long. */
const TOLD_NS = 3600e9;

/**
 * How far this clock is ahead of the database's, at least: it has read its own some time during the question, and what that
 * explains is no offset.
 */
export function clockOffsetMs(question: {
  readonly storeMs: number;
  readonly beganMs: number;
  readonly tookMs: number;
}): number {
  const earliest = question.beganMs - question.storeMs;
  return earliest > 0 ? earliest : Math.min(0, earliest + question.tookMs);
}

export function watchClock({ clock, storeNowMs, offsetMsMax, telemetry }: ClockWatchParts): ClockWatch {
  let leadMs: number | undefined;
  let jump: { readonly byMs: number; readonly atNs: number } | undefined;
  let offsetMs: number | undefined;
  let isOff = false;
  const measureJump = () => {
    const lead = clock.now() - clock.monotonicNs() / 1e6;
    const byMs = leadMs === undefined ? 0 : Math.round(leadMs - lead);
    leadMs = lead;
    if (byMs <= offsetMsMax) return;
    jump = { byMs, atNs: clock.monotonicNs() };
    telemetry.warn('the clock of this machine was set back', { byMs });
  };
  const measureOffset = async () => {
    const [beganMs, beganNs] = [clock.now(), clock.monotonicNs()];
    const storeMs = await storeNowMs();
    if (storeMs === undefined) return;
    const tookMs = (clock.monotonicNs() - beganNs) / 1e6;
    offsetMs = clockOffsetMs({ storeMs, beganMs, tookMs });
    const wasOff = isOff;
    isOff = Math.abs(offsetMs) > (wasOff ? offsetMsMax / 2 : offsetMsMax);
    if (isOff && !wasOff)
      telemetry.warn('the clock of this machine differs from that of the database', { offsetMs });
    if (!isOff && wasOff) telemetry.info('the clock of this machine agrees with that of the database again');
  };
  return {
    name: 'the clock',
    offsetMs: () => offsetMs,
    async measure() {
      measureJump();
      await measureOffset();
    },
    findings() {
      const found: Finding[] = [];
      if (isOff) {
        const description = `The clock of this machine is more than ${offsetMsMax / 1000} s ${offsetMs! > 0 ? 'ahead of' : 'behind'} that of the database: have a time service (NTP) set both.`;
        found.push({ status: 'Degraded', description });
      }
      if (jump !== undefined && clock.monotonicNs() - jump.atNs < TOLD_NS) {
        const description = `The clock of this machine was set back by ${Math.round(jump.byMs / 1000)} s within the last hour, and times in logs stand still until it has caught up: have a time service (NTP) set it that slows it instead.`;
        found.push({ status: 'Degraded', description });
      }
      return found;
    },
  };
}
