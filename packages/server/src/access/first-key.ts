// The key with which everything begins. A start without any key makes one platform Admin key, to be printed once.
// TALLYSTICK_ADMIN_KEY is that key instead: each start makes sure that it is there, and revokes what an earlier
// value of the setting has made. A key that was revoked by hand stays revoked, whatever the setting says, and one
// that took the place of such a key by rotation is its owner's: the setting has not made it and does not end it.

import type { Clock } from '../runtime/clock.ts';
import type { Random } from '../runtime/random.ts';
import { type ApiKeyRecord, type ApiKeyStore, hashOfKey, keyStatus, makeKey } from './api-keys.ts';

export interface FirstKeyParts {
  readonly keys: ApiKeyStore;
  readonly clock: Clock;
  readonly random: Random;
  readonly nextId: () => string;
}

export type FirstKey =
  /** A new key, which nobody has seen yet. */
  | { readonly outcome: 'Made'; readonly key: string }
  /** The key of the setting works. */
  | { readonly outcome: 'Given' }
  /** The key of the setting is there, but revoked, expired, or no platform Admin's; it stays as it is. */
  | { readonly outcome: 'GivenButUseless'; readonly keyId: string }
  /** There are keys, and the setting is not given. */
  | { readonly outcome: 'NotNeeded' };

/** Keys that come from the setting are known by this name. */
const GIVEN_NAME = 'TALLYSTICK_ADMIN_KEY';
const MADE_NAME = 'first start';
const MAKER = 'system';

export async function settleFirstKey(given: string | undefined, parts: FirstKeyParts): Promise<FirstKey> {
  if (given !== undefined) return settleGiven(given, parts);
  if ((await parts.keys.list()).length > 0) return { outcome: 'NotNeeded' };
  const record = platformAdmin(MADE_NAME, parts);
  const key = makeKey(record.keyId, parts.random);
  // Another node may be starting for the first time, too: one of them makes it, and shows it.
  const isMade = await parts.keys.createFirst(record, hashOfKey(key));
  return isMade ? { outcome: 'Made', key } : { outcome: 'NotNeeded' };
}

async function settleGiven(given: string, parts: FirstKeyParts): Promise<FirstKey> {
  const { keys, clock } = parts;
  const hash = hashOfKey(given);
  await keys.create(platformAdmin(GIVEN_NAME, parts), hash);
  const current = (await keys.findByHash(hash))!;
  for (const record of await keys.list('*')) {
    const isEarlier = isMadeBySetting(record) && record.keyId !== current.keyId;
    if (isEarlier && record.revokedAtMs === undefined) await keys.revoke(record.keyId, clock.now());
  }
  const isPlatformAdmin = current.tenantId === '*' && current.roles.includes('Admin');
  const works = isPlatformAdmin && keyStatus(current, clock.now()) === 'Active';
  return works ? { outcome: 'Given' } : { outcome: 'GivenButUseless', keyId: current.keyId };
}

/** A rotated key has the name of the one before it, and anyone may give a key any name: the name alone says nothing. */
function isMadeBySetting({ name, createdBy, replaces }: ApiKeyRecord): boolean {
  return name === GIVEN_NAME && createdBy === MAKER && replaces === undefined;
}

function platformAdmin(name: string, { clock, nextId }: FirstKeyParts): ApiKeyRecord {
  return {
    keyId: nextId(),
    tenantId: '*',
    name,
    roles: ['Admin'],
    scopes: [],
    clearance: undefined,
    createdAtMs: clock.now(),
    createdBy: MAKER,
    expiresAtMs: undefined,
    revokedAtMs: undefined,
    replaces: undefined,
  };
}
