// After a restore: finds the tenants whose log is not the one that was signed, and goes on in a new log, openly, with each
// that has less than that. A log that has something else is refused.
// Nothing is changed before that is asked for, tenant by tenant, and nobody else may use the store meanwhile.

import { AuditError, type TenantId } from '@tallystick/contract';
import { originOf } from '@tallystick/evidence';
import type { TenantStore } from '../../access/tenants.ts';
import type { Clock } from '../../runtime/clock.ts';
import type { Telemetry } from '../../telemetry.ts';
import type { AnchorHistory, ReadAnchor } from './anchor.ts';
import { AnchorComparison, type Disagreement } from './comparison.ts';
import type { EpochResult, LogWriter } from '../log.ts';
import { divergenceMessage } from './divergence.ts';
import type { Growth, Standing, TreeReader, TreeWriter } from '../tree.ts';
import type { UnanchoredLog } from './unanchored.ts';

export interface RecoveryParts {
  readonly tree: Pick<TreeWriter, 'standings' | 'stopAt' | 'readGrowth'> & Pick<TreeReader, 'tree'>;
  readonly log: Pick<LogWriter, 'beginEpoch'>;
  readonly tenants: Pick<TenantStore, 'ensure'>;
  readonly anchor: ReadAnchor;
  readonly logOrigin: string;
  readonly telemetry: Pick<Telemetry, 'warn'>;
  readonly clock: Pick<Clock, 'now'>;
}

export type NewEpoch = Extract<EpochResult, { status: 'Begun' }>;

export interface Affected {
  /** By tenant. */
  readonly disagreements: readonly Disagreement[];
  /** Logs that agree with the anchor as far as that goes, which is less than was signed. */
  readonly unanchored: readonly UnanchoredLog[];
  /** Logs whose entries do not match their hashes: no restore did that, and a new log would not mend it. */
  readonly damaged: ReadonlyMap<TenantId, string>;
}

/** Entries that were not signed yet and have been read back. */
export interface ReadingBack {
  readonly entries: number;
  readonly entriesTotal: number;
}

/** The logs that the service refuses, for the same reasons. */
export async function findAffected(
  parts: RecoveryParts,
  onProgress: (progress: ReadingBack) => void = () => {},
): Promise<Affected> {
  const comparison = await AnchorComparison.make(parts);
  const tell = readingBack(comparison.standings, onProgress);
  const found = new Map(comparison.found.map((each) => [each.tenant, each]));
  const damaged = new Map(comparison.unreadable);
  for (let hasMore = !comparison.isSettled; hasMore && !comparison.isSettled; ) {
    const growth = await parts.tree.readGrowth();
    for (const { tenant, message } of growth.faults) damaged.set(tenant, message);
    for (const log of growth.grown) {
      const judgement = comparison.judge(log);
      if (typeof judgement === 'object') found.set(log.tenant, judgement);
    }
    tell(growth.grown);
    ({ hasMore } = growth);
  }
  // The first reader of a fault is the only one that is told: a log that is still open then is at fault, too.
  for (const tenant of comparison.unsettled) {
    if (!damaged.has(tenant)) damaged.set(tenant, 'it cannot be read back as far as it was signed');
  }
  const disagreements = [...found.values()].filter(({ tenant }) => !damaged.has(tenant));
  const unanchored = comparison.unanchored.filter(({ tenant }) => !found.has(tenant) && !damaged.has(tenant));
  return {
    disagreements: disagreements.toSorted(byTenant),
    unanchored: unanchored.toSorted(byTenant),
    damaged,
  };
}

function byTenant(one: { readonly tenant: TenantId }, other: { readonly tenant: TenantId }): number {
  return one.tenant < other.tenant ? -1 : 1;
}

/** Each portion names the logs that it has come further in, and how far. */
function readingBack(standings: readonly Standing[], onProgress: (progress: ReadingBack) => void) {
  const logs = standings.filter(({ fault }) => fault === undefined);
  const signed = new Map(logs.map(({ tenant, checkpoint }) => [tenant, checkpoint?.size ?? 0]));
  const read = new Map<TenantId, number>();
  const sum = (counts: Iterable<number>) => [...counts].reduce((total, count) => total + count, 0);
  const entriesTotal = sum(logs.map(({ entries }) => entries)) - sum(signed.values());
  return (grown: Growth['grown']): void => {
    for (const { tenant, heads } of grown) read.set(tenant, heads.at(-1)!.size - (signed.get(tenant) ?? 0));
    onProgress({ entries: sum(read.values()), entriesTotal });
  };
}

/** Goes on with one of those that were found, unless the store has something else than was signed. */
export async function beginEpoch(
  { tenant, anchored }: Disagreement,
  known: AnchorHistory,
  { log, tenants, logOrigin, clock }: Pick<RecoveryParts, 'log' | 'tenants' | 'logOrigin' | 'clock'>,
): Promise<NewEpoch> {
  const nowMs = clock.now();
  try {
    // The copy may be older than the tenant.
    await tenants.ensure(tenant, nowMs);
    // The store has no log that is younger: else it would not be behind.
    const origins = Array.from({ length: anchored.epoch + 1 }, (_, epoch) =>
      originOf({ tenant, epoch }, logOrigin),
    );
    const history = origins.flatMap((origin) => known.get(origin) ?? []);
    const request = { tenant, anchored, history };
    const result = await log.beginEpoch(request, { nowMs, steadyNowMs: nowMs });
    if (result.status === 'Begun') return result;
    if (result.status === 'OtherHistory') throw new Error(divergenceMessage(result));
    throw new Error(`the answer of the store is ${result.status}`);
  } catch (cause) {
    throw new AuditError('SERVICE_UNAVAILABLE', `The log of ${tenant} could not go on in a new epoch.`, {
      cause,
    });
  }
}
