// The removal of expired content: the loop that looks for it, and the jobs that it enqueues.

import type { Tenants } from '../access/tenants.ts';
import type { Signing } from '../keys/signing.ts';
import { KeptContent } from '../retention/kept-content.ts';
import { type PurgeWork, purgeWork } from '../retention/purge-work.ts';
import { RecordHistories } from '../retention/record-history.ts';
import { createSweeper, expiryTime, type Sweeper } from '../retention/sweeper.ts';
import { createCautiousTime } from '../runtime/cautious-time.ts';
import type { LateStorage } from '../storage/late-storage.ts';
import type { Sequencer } from '../streams/append/sequencer.ts';
import type { Checkpointer } from '../streams/checkpoints/checkpointer.ts';
import type { Surroundings } from './surroundings.ts';

export interface Sweeping {
  readonly sweeper: Sweeper;
  readonly purging: PurgeWork;
}

export interface SweepingParts {
  readonly storage: LateStorage;
  readonly tenants: Tenants;
  readonly checkpointer: Checkpointer;
  readonly sequencer: Sequencer;
  readonly signing: Signing;
  /** There is a job to do. */
  readonly wake: () => void;
}

export function createSweeping(
  { storage, tenants, checkpointer, sequencer, signing, wake }: SweepingParts,
  { config, clock, random, nextId, telemetry }: Surroundings,
): Sweeping {
  const { removal, tree: trees, log, index, violations, work, records } = storage;
  const { ms: intervalMs } = config.retention.sweepInterval;
  const untilMs = expiryTime(createCautiousTime(clock), removal);
  const common = { removal, clock, random, nextId, telemetry, untilMs, intervalMs };
  const histories = new RecordHistories({
    trees,
    records,
    signing,
    onUnproven(tenant, { index: at, message }) {
      telemetry.error('an entry of the log differs from what was signed', new Error(message), {
        tenant,
        index: at,
      });
    },
  });
  const judging = { trees, signing, histories };
  const kept = new KeptContent(clock, telemetry, intervalMs);
  const refusalOf = checkpointer.refusalOf.bind(checkpointer);
  return {
    sweeper: createSweeper({ ...common, work, refusalOf, wake }),
    purging: purgeWork({
      ...common,
      trees,
      log,
      index,
      violations,
      tenants,
      checkpointer,
      sequencer,
      judging,
      kept,
    }),
  };
}
