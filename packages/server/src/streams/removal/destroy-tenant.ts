// Makes all content of a tenant unreadable for good, in backups, too, where it was sealed: its keys are closed, its content is removed
// under notices of the cause KeyDestroyed, and then the keys are destroyed, in the store and in the keyring. The tenant
// goes on under new keys.

import type { TenantId } from '@tallystick/contract';
import type { Deadline } from '../../runtime/deadline.ts';
import { type RemovalParts, remove, type Removed } from './remove.ts';
import type { IndexSpan } from './removal.ts';
import type { DestroyedKeys, TenantKeyStore } from './tenant-keys.ts';

export interface TenantDestruction {
  readonly tenant: TenantId;
  readonly correlationId: string;
  readonly deadline: Deadline;
}

export interface TenantDestructionParts extends RemovalParts {
  readonly keys: Pick<TenantKeyStore, 'close'>;
  /** All entries of the log that are there by now, once they are signed; without those that are held. */
  readonly spansOf: (tenant: TenantId) => Promise<readonly IndexSpan[]>;
  /** Those of the tenant that are closed, and have no content left. */
  readonly destroyKeys: (tenant: TenantId) => Promise<DestroyedKeys>;
}

/** Repeated after a crash, it goes on. A key stays where content is left under it: what is held, or is of a log before a restore. */
export async function destroyTenant(
  { tenant, correlationId, deadline }: TenantDestruction,
  parts: TenantDestructionParts,
): Promise<Removed & DestroyedKeys> {
  // What comes from here on is under other keys; all that is under these is among the spans.
  await parts.keys.close(tenant);
  const spans = await parts.spansOf(tenant);
  const removed = await remove({ tenant, spans, cause: 'KeyDestroyed', correlationId, deadline }, parts);
  return { ...removed, ...(await parts.destroyKeys(tenant)) };
}
