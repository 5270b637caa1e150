// Watches the jobs: one that is under way without progress, whose holder renews its lease again and again, and one that is long due and
// that nobody begins.

import type { TenantId } from '@tallystick/contract';
import type { CheckName } from '../admin/health.ts';
import type { Finding, Watch } from '../admin/watch.ts';
import type { Clock } from '../runtime/clock.ts';
import type { Telemetry } from '../telemetry.ts';
import type { JobKind, WorkStore } from './jobs.ts';
import type { Workers } from './workers.ts';

export interface JobWatchParts {
  readonly workers: Pick<Workers, 'kinds' | 'quietest'>;
  readonly work: Pick<WorkStore, 'overdue'>;
  readonly silenceMsMax: number;
  readonly clock: Pick<Clock, 'monotonicNs'>;
  readonly telemetry: Pick<Telemetry, 'info' | 'warn'>;
}

export interface JobWatch extends Watch {
  /** In the part of the service that a check is about. */
  ofCheck(name: CheckName): Pick<Watch, 'findings'>;
  /** How many kinds of jobs make no progress. */
  stuckKinds(): number;
}

const CHECK_OF: Readonly<Record<JobKind, CheckName>> = {
  Answer: 'log',
  Delivery: 'webhooks',
  Erasure: 'storage',
  Export: 'exports',
  ExportDelivery: 'exports',
  Gate: 'webhooks',
  HoldCount: 'log',
  IndexEvent: 'views',
  Probe: 'webhooks',
  Purge: 'storage',
  Rebuild: 'views',
  Recovery: 'webhooks',
  Redaction: 'storage',
  ScheduledExport: 'exports',
  Verification: 'log',
};
const ASKED_NS = 15e9;

interface Stuck {
  readonly how: 'Silent' | 'NotBegun';
  readonly tenant: TenantId;
  readonly jobId?: string;
}

export function watchJobs({ workers, work, silenceMsMax, clock, telemetry }: JobWatchParts): JobWatch {
  let stuck = new Map<JobKind, Stuck>();
  let notBegun = new Map<JobKind, Stuck>();
  let askedNs = -Infinity;
  const askStore = async () => {
    if (clock.monotonicNs() - askedNs < ASKED_NS) return;
    const found = new Map<JobKind, Stuck>();
    for (const kind of workers.kinds) {
      const lane = await work.overdue(kind, silenceMsMax);
      if (lane !== undefined) found.set(kind, { how: 'NotBegun', tenant: lane.tenant });
    }
    [notBegun, askedNs] = [found, clock.monotonicNs()];
  };
  const findings = (of?: CheckName): readonly Finding[] => {
    const ways = [...stuck].filter(([kind]) => of === undefined || CHECK_OF[kind] === of);
    return [...new Set(ways.map(([, { how }]) => how))].map((how) => ({
      status: 'Degraded',
      description: textOf(how, silenceMsMax),
    }));
  };
  return {
    name: 'the progress of jobs',
    async measure() {
      await askStore();
      const now = new Map(notBegun);
      for (const { kind, tenant, jobId, quietMs } of workers.quietest())
        if (quietMs > silenceMsMax) now.set(kind, { how: 'Silent', tenant, jobId });
      for (const [kind, { how, ...facts }] of now)
        if (stuck.get(kind)?.how !== how)
          telemetry.warn(
            how === 'Silent' ? 'a job is under way without progress' : 'jobs that are due are not begun',
            { kind, ...facts },
          );
      for (const kind of stuck.keys())
        if (!now.has(kind)) telemetry.info('jobs make progress again', { kind });
      stuck = now;
    },
    findings: () => findings(),
    ofCheck: (name) => ({ findings: () => findings(name) }),
    stuckKinds: () => stuck.size,
  };
}

function textOf(how: Stuck['how'], silenceMsMax: number): string {
  const limit = `${silenceMsMax / 1000} s`;
  return how === 'Silent'
    ? `A background job has made no progress for more than ${limit}: the diagnostics name it; restart the node that does it, and it is begun again.`
    : `Background jobs have been due for more than ${limit} and are not begun: see the diagnostics, and restart the service if they name no cause.`;
}
