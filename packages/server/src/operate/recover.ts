// Goes on after a restore, or after the anchor was lost, with the service stopped: what the command line shows, and then
// does. To look changes nothing: the anchor is only read, and data of an older version is refused.

import type { TenantId } from '@tallystick/contract';
import { anchorPlace } from '../config/anchor-place.ts';
import { requireServable } from '../config/rules.ts';
import type { Config } from '../config/settings.ts';
import { systemClock } from '../runtime/clock.ts';
import { createUlids } from '../runtime/ids.ts';
import { createSystemRandom } from '../runtime/random.ts';
import { openOwnAnchor } from '../storage/anchor-nodes.ts';
import type { Disagreement } from '../streams/anchor-comparison.ts';
import {
  type Affected,
  beginEpoch,
  findAffected,
  type NewEpoch,
  type ReadingBack,
} from '../streams/recovery.ts';
import { loadSigningKeys } from '../storage/signing-key-files.ts';
import { verifierKeys } from '../keys/signing-keys.ts';
import { acceptLosses, type AcceptedLosses } from './accept-lost-anchor.ts';
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
  /** Goes on with all logs that the anchor knows less of than was signed. */
  acceptLostAnchor(): Promise<AcceptedLosses>;
}

/** Throws ConfigError, and StartError also while the service runs. */
export async function openRecovery(
  config: Config,
  onProgress?: (progress: ReadingBack) => void,
): Promise<Recovery> {
  requireServable(config);
  requireData(config);
  await using opening = new AsyncDisposableStack();
  const storage = opening.use(await openStorage(config, true));
  const { log, tree, tenants, logOrigin } = storage;
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
    async acceptLostAnchor() {
      await using own = await openOwnAnchor(anchorPlace(config));
      const random = createSystemRandom();
      const keys = (await loadSigningKeys(config.storage.dataDirectory)) ?? [];
      return await acceptLosses(affected.unanchored, {
        storage,
        anchor: own,
        clock: systemClock,
        nextId: createUlids(systemClock, random),
        correlationId: random.uuid(),
        verifierKeys: (origin) => verifierKeys(keys, origin),
      });
    },
    [Symbol.asyncDispose]: () => opened.disposeAsync(),
  };
}
