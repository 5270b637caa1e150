// Goes on after a restore, or after the anchor was lost, with the service stopped: what the command line shows, and then
// does. To look changes nothing: the anchor is only read, and data of an older version is refused.

import type { TenantId } from '@tallystick/contract';
import { INSTALLATION } from '@tallystick/evidence';
import { anchorPlace } from '../config/anchor-place.ts';
import { requireServable } from '../config/rules.ts';
import type { Config } from '../config/settings.ts';
import { systemClock } from '../runtime/clock.ts';
import { createUlids } from '../runtime/ids.ts';
import { createSystemRandom } from '../runtime/random.ts';
import { openOwnAnchor, readAnchorAt } from '../storage/anchor/file-anchor.ts';
import type { AnchorHistory } from '../streams/anchor/anchor.ts';
import type { Disagreement } from '../streams/anchor/comparison.ts';
import { type InstallationAct, installationNotice } from '../streams/append/installation-notice.ts';
import {
  type Affected,
  beginEpoch,
  findAffected,
  type NewEpoch,
  type ReadBackProgress,
} from '../streams/anchor/recovery.ts';
import { loadSigningKeys } from '../storage/keys/signing-key-files.ts';
import { verifierKeys } from '../keys/signing-keys.ts';
import { acceptLosses, type AcceptedLosses } from './accept-lost-anchor.ts';
import { openStorage, requireData, warnInto } from './open-data.ts';

/** A data directory whose logs are compared with the anchor. Nobody else can use it until this is disposed. */
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
  onProgress?: (progress: ReadBackProgress) => void,
): Promise<Recovery> {
  requireServable(config);
  requireData(config);
  await using opening = new AsyncDisposableStack();
  const storage = opening.use(await openStorage(config, true));
  const { log, tree, tenants, logOrigin } = storage;
  const anchor = await readAnchorAt(anchorPlace(config));
  const warnings: string[] = [];
  const parts = { log, tree, tenants, logOrigin, anchor, telemetry: warnInto(warnings), clock: systemClock };
  const affected = await findAffected(parts, onProgress);
  const around = { clock: systemClock, random: createSystemRandom() };
  const noting = { ...around, nextId: createUlids(systemClock, around.random) };
  // Where the installation's own log is one of those that must not go on, nothing is written to it before it may.
  const isHeld = () => affectedTenants(affected).has(INSTALLATION) && !begun.has(INSTALLATION);
  const begun = new Set<TenantId>();
  const note = async (act: InstallationAct) => {
    if (isHeld()) {
      warnings.push(`the log of the installation is not recovered yet, so ${act.action} is not noted there`);
      return;
    }
    await tenants.ensure(INSTALLATION, systemClock.now());
    const nowMs = systemClock.now();
    await log.append([installationNotice(act, noting)], { nowMs, steadyNowMs: nowMs });
  };
  let history: AnchorHistory | undefined;
  const opened = opening.move();
  return {
    ...affected,
    isAnchorNew: anchor.heads().size === 0,
    warnings,
    hasTenant: async (tenant) =>
      affected.disagreements.some((each) => each.tenant === tenant) ||
      (await tenants.find(tenant)) !== undefined,
    async begin(disagreement) {
      // Nobody else can anchor anything meanwhile.
      history ??= await anchor.history();
      const epoch = await beginEpoch(disagreement, history, parts);
      begun.add(disagreement.tenant);
      const resource = { resourceType: 'Log', resourceId: epoch.origin };
      await note({ act: 'LogRecovered', action: 'Recover.Log', resource, count: 1 });
      return epoch;
    },
    async acceptLostAnchor() {
      await using own = await openOwnAnchor(anchorPlace(config));
      const keys = (await loadSigningKeys(config.storage.dataDirectory)) ?? [];
      const losses = await acceptLosses(affected.unanchored, {
        storage,
        anchor: own,
        ...noting,
        correlationId: around.random.uuid(),
        verifierKeys: (origin) => verifierKeys(keys, origin),
      });
      for (const { tenant } of losses.accepted) begun.add(tenant);
      const { size: count } = new Set(losses.accepted.map(({ tenant }) => tenant));
      const resource = { resourceType: 'Installation', resourceId: logOrigin };
      const act = { act: 'AnchorLossesAccepted', action: 'Accept.AnchorLosses', resource, count } as const;
      // Without the anchor of then, nothing tells whether these were there before this version.
      for (const { tenantId } of await storage.olderKeys.list()) await storage.olderKeys.remove(tenantId);
      if (count > 0) await note(act);
      return losses;
    },
    [Symbol.asyncDispose]: () => opened.disposeAsync(),
  };
}

/** Those whose logs must not go on as they are. */
function affectedTenants({ disagreements, unanchored, damaged }: Affected): Set<TenantId> {
  return new Set([...disagreements, ...unanchored].map(({ tenant }) => tenant).concat(...damaged.keys()));
}
