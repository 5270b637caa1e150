// The span of a job: one for each attempt to do it, under the request that has caused the job where this process knows it. So it
// is recorded if that one is; a link to it would lead nowhere most of the time.

import type { SpanRef, Tracing } from '../telemetry/tracing.ts';
import type { Job } from './jobs.ts';
import type { KindOfWork } from './workers.ts';

export function traceWork(
  work: KindOfWork,
  tracing: Tracing,
  originOf: (job: Job) => SpanRef | undefined,
): KindOfWork {
  return {
    ...work,
    handle(job, holding) {
      return tracing.during(
        {
          name: `job ${work.kind}`,
          kind: 'Consumer',
          under: originOf(job) ?? 'Nothing',
          facts: { 'tallystick.job.kind': work.kind, 'tallystick.job.attempt': job.attempts },
        },
        async (span) => {
          const outcome = await work.handle(job, holding);
          span.note({ 'tallystick.job.outcome': outcome.status });
          if (outcome.status === 'Failed' || outcome.status === 'Dead') span.fail(outcome.status);
          return outcome;
        },
      );
    },
  };
}
