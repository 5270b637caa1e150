// Destroys keys for good: first in the store, then in the keyring, whose copies must go, too. What was sealed with them opens nowhere
// from then on, not in a backup either.

import type { TenantId } from '@tallystick/contract';
import type { DestroyedKeys, TenantKeyStore } from '../../streams/removal/tenant-keys.ts';
import { contentMonthOf } from '../rows/content-month.ts';
import { StartError } from '../../start-error.ts';
import { takeProcessLock } from '../files/process-lock.ts';
import { type KeyTree, withoutBranch } from './key-tree.ts';
import { type KeyringFile, type ReadKeyring, readKeyring, replaceKeyring } from './keyring-file.ts';
import { monthBranch, type RingData, tenantBranch } from './keyring.ts';
import type { KeyringPlace } from './open-keyring.ts';

const TENANTS_AT_ONCE = 1000;

export interface DestroyingParts {
  readonly keys: TenantKeyStore;
  readonly place: KeyringPlace;
  readonly nowMs: number;
  /** Told what the keyring is from now on. */
  readonly onChange?: (ring: RingData) => void;
}

/**
 * Destroys the keys of a tenant that take no new content, and have none left. To erase a tenant: its keys are closed, then its content
 * is removed under notices of the cause KeyDestroyed, then this. Returns what is destroyed in the keyring.
 */
export async function destroyTenantKeys(tenant: TenantId, parts: DestroyingParts): Promise<DestroyedKeys> {
  const tenantKeys = await parts.keys.destroyUnused(tenant);
  return destroyed({ tenantKeys, months: [] }, parts);
}

/** Of months that are over, once all content is removed: of each tenant, and in the keyring once that holds for all. */
export async function destroyPastKeys(parts: DestroyingParts): Promise<DestroyedKeys> {
  const { keys } = parts;
  // The one before may still get content, by the clock of another node.
  const before = contentMonthOf(parts.nowMs) - 1;
  const tenantKeys: string[] = [];
  for (let after: TenantId | undefined; ; ) {
    const portion = await keys.tenants(after, TENANTS_AT_ONCE);
    for (const tenant of portion) {
      await keys.closeBefore(tenant, before);
      tenantKeys.push(...(await keys.destroyUnused(tenant)));
    }
    after = portion.at(-1);
    if (portion.length < TENANTS_AT_ONCE) break;
  }
  return destroyed({ tenantKeys, months: await keys.emptiedMonths(before) }, parts);
}

/** Repeated after a crash, it changes nothing that is done. */
async function destroyed(gone: DestroyedKeys, parts: DestroyingParts): Promise<DestroyedKeys> {
  const branches = [...gone.tenantKeys.map(tenantBranch), ...gone.months.map(monthBranch)];
  if (branches.length === 0) return gone;
  await changeKeyring(parts, (ring) => withoutBranches(ring, branches));
  return gone;
}

/** The same keyring where all of them are gone: keys that were destroyed once are named each time. */
function withoutBranches(ring: RingData, branches: readonly string[]): RingData {
  const keys = ring.keys.map((key) => ({ ...key, tree: branches.reduce<KeyTree>(withoutBranch, key.tree) }));
  return keys.every(({ tree }, i) => tree === ring.keys[i]!.tree) ? ring : { ...ring, keys };
}

/** One process after the other. What has sealed the keyring seals it again, if it changes. Throws StartError where there is no keyring. */
export async function changeKeyring(
  { place, onChange }: Pick<DestroyingParts, 'place' | 'onChange'>,
  change: (ring: RingData) => RingData,
): Promise<RingData> {
  using _ = aloneWith(place);
  const { ring, sealedBy } = await requireKeyring(place);
  const changed = change(ring);
  if (changed === ring) return ring;
  await replaceKeyring(changed, sealedBy);
  onChange?.(changed);
  return changed;
}

/** Seals the keyring anew, by the provider of new keyrings: the only way from one to another. */
export async function rewrapKeyring(place: KeyringFile): Promise<RingData> {
  using _ = aloneWith(place);
  const { ring } = await requireKeyring(place);
  await replaceKeyring(ring, place.provider);
  return ring;
}

function aloneWith({ path }: KeyringFile): Disposable {
  return takeProcessLock(`${path}.lock`, 'Alone', `the keyring ${path} is being changed by another process`);
}

async function requireKeyring(place: KeyringFile): Promise<ReadKeyring> {
  const found = await readKeyring(place);
  if (found === undefined) throw new StartError(`the keyring ${place.path} is not there`);
  return found;
}
