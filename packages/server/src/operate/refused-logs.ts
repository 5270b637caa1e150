// Which logs the service refuses, for a command that is about to write to one, whether the service runs or not.

import type { TenantId } from '@tallystick/contract';
import type { Config } from '../config/settings.ts';
import { systemClock } from '../runtime/clock.ts';
import type { Storage } from '../storage/storage.ts';
import { findAffected } from '../streams/anchor/recovery.ts';
import { requireAnchorOf } from './open-data.ts';

/** Why nothing may be appended to them. Throws StartError where no anchor tells. */
export async function refusedLogs(config: Config, storage: Storage): Promise<ReadonlyMap<TenantId, string>> {
  const refused = await compare(config, storage);
  // A service that signs between two looks of one comparison is ahead of what was read first; a fault stays.
  return refused.size === 0 ? refused : compare(config, storage);
}

async function compare(config: Config, storage: Storage): Promise<Map<TenantId, string>> {
  const { log, tree, tenants, logOrigin } = storage;
  const anchor = await requireAnchorOf(config, storage);
  // The anchor may move on during the comparison: its warnings would mean nothing.
  const telemetry = { warn: () => {} };
  const parts = { log, tree, tenants, logOrigin, anchor, telemetry, clock: systemClock };
  const { disagreements, unanchored, damaged } = await findAffected(parts);
  const refused = [...disagreements, ...unanchored];
  return new Map([...damaged, ...refused.map(({ tenant, message }) => [tenant, message] as const)]);
}
