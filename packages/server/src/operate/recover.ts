// Goes on after a restore, with the service stopped: what the command line shows, and then does tenant by tenant. To look
// changes nothing: the anchor is only read, and data of an older version is refused.

import type { TenantId } from '@tallystick/contract';
import { requireServable } from '../config/rules.ts';
import type { Config } from '../config/settings.ts';
import { systemClock } from '../runtime/clock.ts';
import type { Disagreement } from '../streams/anchor-comparison.ts';
import {
  type Affected,
  beginEpoch,
  findAffected,
  type NewEpoch,
  type ReadingBack,
} from '../streams/recovery.ts';
import { openStorage, readAnchorOf, requireData, warnInto } from './open-data.ts';

/** A data directory whose logs are held against the anchor. Nobody else can use it until this is disposed. */
export interface Recovery extends Affected, AsyncDisposable {
  /** Nothing was ever anchored: then there is nothing to compare with. */
  readonly isAnchorNew: boolean;
  readonly warnings: readonly string[];
  /** Whether there is such a tenant: in the data, or in the anchor alone, where the copy is older than the tenant. */
  hasTenant(tenant: TenantId): Promise<boolean>;
  /** Goes on with one of the tenants that are affected. */
  begin(disagreement: Disagreement): Promise<NewEpoch>;
}

/** Throws ConfigError, and StartError also while the service runs. */
export async function openRecovery(
  config: Config,
  onProgress?: (progress: ReadingBack) => void,
): Promise<Recovery> {
  requireServable(config);
  requireData(config);
  await using opening = new AsyncDisposableStack();
  const { log, tree, tenants, logOrigin } = opening.use(await openStorage(config, true));
  const anchor = readAnchorOf(config);
  const warnings: string[] = [];
  const parts = { log, tree, tenants, logOrigin, anchor, telemetry: warnInto(warnings), clock: systemClock };
  const affected = await findAffected(parts, onProgress);
  const opened = opening.move();
  return {
    ...affected,
    isAnchorNew: anchor.isNew,
    warnings,
    hasTenant: async (tenant) =>
      affected.disagreements.some((each) => each.tenant === tenant) ||
      (await tenants.find(tenant)) !== undefined,
    begin: (disagreement) => beginEpoch(disagreement, parts),
    [Symbol.asyncDispose]: () => opened.disposeAsync(),
  };
}
