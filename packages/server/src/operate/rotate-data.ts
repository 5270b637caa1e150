// Makes a new key of the keyring, whether the service runs or not, and seals the keys of all tenants anew with it. Nodes learn of it
// before any key is sealed with it; new content gets new data keys, and the old ones stay for what they have sealed.

import type { Config } from '../config/settings.ts';
import { keyringOf } from '../keyring-place.ts';
import { systemClock, wait } from '../runtime/clock.ts';
import { createSystemRandom } from '../runtime/random.ts';
import { StartError } from '../start-error.ts';
import { changeKeyring, rewrapKeyring } from '../storage/sealing/destroy-keys.ts';
import { newRingKey } from '../storage/sealing/keyring-file.ts';
import { KEYRING_LOOK_MS } from '../storage/sealing/keyring-watch.ts';
import { openStorage, requireData } from './open-data.ts';

export interface DataRotation {
  readonly ringKey: string;
  readonly tenants: number;
  /** Tenant keys and data keys. */
  readonly keys: number;
}

export interface Rewrapping {
  readonly path: string;
  readonly provider: string;
  /** Of the keyring. */
  readonly keys: number;
}

const TENANTS_AT_ONCE = 1000;
/** Longer than it takes a node to notice, and to ask a provider that is slow. */
const NOTICED_MS = 3 * KEYRING_LOOK_MS;
const NOTICED_MS_REMOTE = NOTICED_MS + 5000;

/** Asked again after a crash, it makes another key and seals all keys with that one. Throws StartError, and ConfigError. */
export async function rotateData(config: Config, noticedMs?: number): Promise<DataRotation> {
  requireData(config);
  const [clock, random] = [systemClock, createSystemRandom()];
  const place = keyringOf(config);
  const made = newRingKey({ random, nowMs: clock.now() });
  await changeKeyring({ place }, (ring) => ({ ...ring, keys: [...ring.keys, made] }));
  await wait(clock, noticedMs ?? (place.provider.name === 'File' ? NOTICED_MS : NOTICED_MS_REMOTE));
  await using storage = await openStorage(config, false);
  const { tenantKeys } = storage;
  let [tenants, keys] = [0, 0];
  for (let after: string | undefined; ; ) {
    const portion = await tenantKeys.tenants(after, TENANTS_AT_ONCE);
    for (const tenant of portion) {
      keys += await tenantKeys.renew(tenant);
      await tenantKeys.rotate(tenant);
      tenants++;
    }
    after = portion.at(-1);
    if (portion.length < TENANTS_AT_ONCE) break;
  }
  const left = (await tenantKeys.ringKeys()).find((id) => id !== made.id);
  if (left !== undefined)
    throw new StartError(
      `some keys are still sealed with the key ${left} of the keyring: a node may have made them meanwhile; run it again`,
    );
  return { ringKey: made.id, tenants, keys };
}

/** Seals the keyring anew by Encryption__Provider, whose newest key counts; its own keys stay. Throws StartError, and ConfigError. */
export async function rewrapKeys(config: Config): Promise<Rewrapping> {
  requireData(config);
  const place = keyringOf(config);
  const { keys } = await rewrapKeyring(place);
  return { path: place.path, provider: place.provider.name, keys: keys.length };
}
