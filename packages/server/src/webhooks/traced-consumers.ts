// The span of an attempt to deliver, within that of its job; and where a delivery comes from. Where it goes is the tenant's own
// affair, and no fact of the span.

import type { SpanRef, Tracing } from '../telemetry/tracing.ts';
import type { Job } from '../work/jobs.ts';
import type { Consumers } from './consumer.ts';
import { DELIVERY, readTask } from './task.ts';

export function traceConsumers(consumers: Consumers, tracing: Tracing): Consumers {
  return {
    post: (post) =>
      tracing.during(
        { name: 'POST', kind: 'Client', under: 'Around', facts: { 'http.request.method': 'POST' } },
        async (span) => {
          const result = await consumers.post(post);
          if ('fault' in result) {
            span.fail(result.fault);
          } else {
            span.note({ 'http.response.status_code': result.status });
            if (result.status >= 400) span.fail(String(result.status));
          }
          return result;
        },
      ),
  };
}

/** The request with the event of a delivery, if this process has traced it lately. */
export function originOfDelivery({ kind, tenant, body }: Job, { origins }: Tracing): SpanRef | undefined {
  if (kind !== DELIVERY || origins.size === 0) return undefined;
  const { source } = readTask(body);
  return source.of === 'Event' ? origins.of(tenant, source.index) : undefined;
}
