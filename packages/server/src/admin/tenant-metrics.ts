// The metrics of one tenant. They come from the requests of this tenant, through ports that know no other tenant: they are
// the same, byte for byte, whether or not there are others.

import type { Metric, TenantId } from '@tallystick/contract';
import type { Checkpointer } from '../streams/checkpoints/checkpointer.ts';
import type { LogReader } from '../streams/log.ts';
import type { TreesWith } from '../streams/tree.ts';
import { type Figures, gauge, sharedMetrics } from './metrics.ts';

export interface TenantLogParts {
  readonly storage: { readonly log: LogReader; readonly tree: TreesWith<'head'> };
  readonly checkpointer: Pick<Checkpointer, 'refusalOf'>;
}

export async function tenantMetrics(
  tenant: TenantId,
  figures: Figures,
  parts: TenantLogParts,
): Promise<Metric[]> {
  return [...sharedMetrics(figures), ...(await logMetrics(tenant, parts))];
}

/** How far the tenant's log is signed; a tenant that has not written yet has an empty one. */
async function logMetrics(tenant: TenantId, { storage, checkpointer }: TenantLogParts): Promise<Metric[]> {
  // The checkpoint first: the log only grows, so what is counted afterwards is never smaller.
  const head = await storage.tree.forTenant(tenant).head();
  const [newest] =
    head === undefined ? [] : await storage.log.forTenant(tenant).streams({ before: undefined }, 1);
  const entries = head === undefined || newest === undefined ? 0 : newest.endIndex - head.firstIndex;
  const latest = head?.latest;
  const metrics = [
    gauge('tallystick_checkpoint_entries', 'Entries under the newest checkpoint.', latest?.size ?? 0),
    {
      name: 'tallystick_checkpoint_timestamp_seconds',
      type: 'Gauge' as const,
      help: 'When the newest checkpoint was published; none before the first.',
      samples: latest === undefined ? [] : [{ labels: {}, value: latest.publishedAtMs / 1000 }],
    },
    gauge(
      'tallystick_log_refused',
      'Whether the log is refused: 1 while nothing may be appended to it.',
      checkpointer.refusalOf(tenant) === undefined ? 0 : 1,
    ),
  ];
  // If the store contradicts the log, its counts cannot be trusted.
  if (newest?.fault !== undefined) return metrics;
  return [gauge('tallystick_log_entries', 'Entries of the log: events and notices.', entries), ...metrics];
}
