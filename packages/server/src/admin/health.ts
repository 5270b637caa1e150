// The health of the service (spec 2.12). Parts of the service add checks by name; a report runs them and is as good as
// the worst of them. Four reports: all checks, and whether the service serves; `live`, which only says that the
// process answers; `ready`, which says whether to send requests here; `startup`, which says that the start is finished.
// A check that throws or takes too long is Unhealthy; the report names the class of error, never its message.

import type { HealthReport } from '@tallystick/contract';
import type { Clock } from '../runtime/clock.ts';
import { withDeadline } from '../runtime/deadline.ts';
import { formatTimeSpan } from '../runtime/time-span.ts';
import type { Lifecycle } from './lifecycle.ts';

type Entry = HealthReport['entries'][string];
type Status = HealthReport['status'];

export type CheckName = 'log' | 'views' | 'webhooks' | 'exports' | 'storage' | 'rates';

export interface Check {
  readonly name: CheckName;
  /** Whether the service cannot serve requests while this is Unhealthy; then `ready` runs it too. */
  readonly essential: boolean;
  readonly run: () => Promise<{ readonly status: Status; readonly description?: string }>;
}

export interface Health {
  add(check: Check): void;
  report(): Promise<HealthReport>;
  live(): Promise<HealthReport>;
  ready(): Promise<HealthReport>;
  startup(): Promise<HealthReport>;
}

const CHECK_TIMEOUT_MS = 5000;
const WORST_FIRST: readonly Status[] = ['Unhealthy', 'Degraded', 'Healthy'];

export function createHealth(clock: Clock, lifecycle: Lifecycle): Health {
  const checks: Check[] = [];
  // Anyone may ask for a report, so all requests during a check share its result, and frequent ones cost nothing.
  const running = new Map<CheckName, Promise<Entry>>();

  const entryOf = (check: Check): Promise<Entry> => {
    const shared =
      running.get(check.name) ?? runCheck(check, clock).finally(() => running.delete(check.name));
    running.set(check.name, shared);
    return shared;
  };
  const reportOn = async (
    chosen: readonly Check[],
    own: HealthReport['entries'] = {},
  ): Promise<HealthReport> => {
    const startedNs = clock.monotonicNs();
    const found = await Promise.all(chosen.map(async (check) => [check.name, await entryOf(check)] as const));
    const entries = { ...own, ...Object.fromEntries(found) };
    const statuses = Object.values(entries).map((entry) => entry.status);
    return {
      status: WORST_FIRST.find((status) => statuses.includes(status)) ?? 'Healthy',
      totalDuration: formatTimeSpan(clock.monotonicNs() - startedNs),
      entries,
    };
  };

  return {
    add(check) {
      if (checks.some(({ name }) => name === check.name))
        throw new Error(`the health check ${check.name} exists`);
      checks.push(check);
    },
    report: () => reportOn(checks, { lifecycle: phaseEntry(lifecycle, ['Serving']) }),
    live: () => reportOn([], { process: { status: 'Healthy' } }),
    ready: () =>
      reportOn(
        checks.filter((check) => check.essential),
        { lifecycle: phaseEntry(lifecycle, ['Serving']) },
      ),
    startup: () => reportOn([], { lifecycle: phaseEntry(lifecycle, ['Serving', 'Draining']) }),
  };
}

function phaseEntry({ phase }: Lifecycle, healthy: readonly string[]): Entry {
  return { status: healthy.includes(phase) ? 'Healthy' : 'Unhealthy', description: phase };
}

async function runCheck(check: Check, clock: Clock): Promise<Entry> {
  const startedNs = clock.monotonicNs();
  const measured = () => formatTimeSpan(clock.monotonicNs() - startedNs);
  try {
    const tooLate = () => Object.assign(new Error('too late'), { name: 'Timeout' });
    const { status, description } = await withDeadline(clock, CHECK_TIMEOUT_MS, tooLate, check.run);
    return { status, ...(description === undefined ? {} : { description }), duration: measured() };
  } catch (error) {
    return { status: 'Unhealthy', duration: measured(), exception: classOf(error) };
  }
}

/** A system error's code (`ENOSPC`) says more than its name, and as little about the inside. */
function classOf(error: unknown): string {
  if (!(error instanceof Error)) return 'Error';
  const code: unknown = 'code' in error ? error.code : undefined;
  return typeof code === 'string' && /^[A-Z][A-Z0-9_]*$/.test(code) ? code : error.name;
}
