// The first API key of an installation. A start without any key makes one platform Admin key, to be printed once.
// TALLYSTICK_ADMIN_KEY is that key instead: each start makes sure that it is there, and revokes what an earlier
// value of the setting has made. A key that was revoked by hand stays revoked for any value of the setting, and one
// that took the place of such a key by rotation is its owner's: the setting has not made it and does not end it.

import { hash } from 'node:crypto';
import type { Clock } from '../runtime/clock.ts';
import type { Random } from '../runtime/random.ts';
import { type ApiKeyRecord, type ApiKeys, hashOfKey, keyStatus } from './api-keys.ts';
import { type KeyChangeCause, type KeyChanges, type KeySettings, SYSTEM } from './key-changes.ts';

export interface FirstKeyParts {
  readonly keys: ApiKeys;
  readonly changes: KeyChanges;
  /** Whether the installation has a log: then this is no first start, even if no key is left. */
  readonly hasLogged: () => Promise<boolean>;
  readonly clock: Pick<Clock, 'now'>;
  readonly random: Pick<Random, 'uuid'>;
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

export async function settleFirstKey(given: string | undefined, parts: FirstKeyParts): Promise<FirstKey> {
  if (given !== undefined) return settleGiven(given, parts);
  // The log first: there may be a million keys.
  if ((await parts.hasLogged()) || (await parts.keys.list()).length > 0) return { outcome: 'NotNeeded' };
  // Another node may be starting for the first time, too: one of them makes it, and shows it.
  const made = await parts.changes.create(platformAdmin(MADE_NAME, MADE_NAME), causeOf(parts));
  return made === undefined ? { outcome: 'NotNeeded' } : { outcome: 'Made', key: made.key };
}

async function settleGiven(given: string, parts: FirstKeyParts): Promise<FirstKey> {
  const { keys, changes, clock } = parts;
  const keyHash = hashOfKey(given);
  if ((await keys.findByHash(keyHash)) === undefined) {
    // Of nodes that start with the same setting, one makes it.
    const uniqueName = `${GIVEN_NAME} ${hash('sha256', keyHash, 'hex')}`;
    await changes.create(platformAdmin(GIVEN_NAME, uniqueName), causeOf(parts), given);
  }
  const current = await keys.findByHash(keyHash);
  // Its row was altered, or removed and its name left.
  if (current === undefined) return { outcome: 'GivenButUseless', keyId: 'unknown' };
  for (const record of await keys.list('*')) {
    const isEarlier = isMadeBySetting(record) && record.keyId !== current.keyId;
    if (isEarlier && record.revokedAtMs === undefined) await changes.revoke(record, causeOf(parts));
  }
  const isPlatformAdmin = current.tenantId === '*' && current.roles.includes('Admin');
  const works = isPlatformAdmin && keyStatus(current, clock.now()) === 'Active';
  return works ? { outcome: 'Given' } : { outcome: 'GivenButUseless', keyId: current.keyId };
}

/** A rotated key has the name of the one before it, and anyone may give a key any name: the name alone says nothing. */
function isMadeBySetting({ name, createdBy, replaces }: ApiKeyRecord): boolean {
  return name === GIVEN_NAME && createdBy === SYSTEM && replaces === undefined;
}

function platformAdmin(name: string, uniqueName: string): KeySettings {
  const facts = { roles: ['Admin'], scopes: [], clearance: undefined, expiresAtMs: undefined } as const;
  return { tenantId: '*', name, uniqueName, ...facts };
}

/** No request has asked for it. */
function causeOf({ random }: FirstKeyParts): KeyChangeCause {
  const correlationId = random.uuid();
  return { by: SYSTEM, requestId: correlationId, correlationId };
}
