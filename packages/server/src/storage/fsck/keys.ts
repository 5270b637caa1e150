// Opens the stored keys of a tenant: each is authenticated together with its place, so that none can be altered, or put in the
// place of another, without being found. Only the keyring can tell.

import type { TenantId } from '@tallystick/contract';
import { KEY_BYTES, type Keyring, monthIn, ringKeyIn, UnusableKey } from '../sealing/keyring.ts';
import type { StoredKey } from '../sealing/provide-keys.ts';
import { fault } from './store-fault.ts';

export class StoredKeys {
  readonly #tenant: TenantId;
  readonly #ring: Keyring | undefined;
  /** Undefined for one that is destroyed. */
  readonly #tenantKeys = new Map<string, Uint8Array | undefined>();

  constructor(tenant: TenantId, ring: Keyring | undefined) {
    this.#tenant = tenant;
    this.#ring = ring;
  }

  /** Called once for each row, tenant keys first; throws EvidenceError. */
  require(key: StoredKey): void {
    const { keyId, purpose, overId, state, sealed, month, ringKey } = key;
    const refuse = (why: string) =>
      fault('MALFORMED', `the key ${keyId} ${why}: its row was changed by hand`);
    const isTenantKey = purpose === 'Tenant';
    const isUnderAnother = purpose === 'Content';
    if (isUnderAnother === (overId === keyId)) throw refuse(`is sealed with ${overId}`);
    if (isTenantKey) this.#tenantKeys.set(keyId, undefined);
    else if (isUnderAnother && !this.#tenantKeys.has(overId))
      throw refuse(`is sealed with ${overId}, which is not there`);
    if (state === 'Destroyed') {
      if (sealed.length > 0) throw refuse('is said to be destroyed, and is there');
      return;
    }
    if (sealed.length > 0 && (ringKeyIn(sealed) !== ringKey || monthIn(sealed) !== month))
      throw refuse('is not of the month, or not under the key of the keyring, that its row says');
    const opened = this.#open(key);
    if (opened.length !== KEY_BYTES) throw refuse('is no key');
    if (isTenantKey) this.#tenantKeys.set(keyId, opened);
  }

  #open({ keyId, purpose, overId, sealed }: StoredKey): Uint8Array {
    if (this.#ring === undefined)
      throw fault('MALFORMED', `there is a key ${keyId} of a tenant, and no keyring to open it`);
    try {
      return this.#ring.open(sealed, { tenant: this.#tenant, purpose, keyId }, this.#tenantKeys.get(overId));
    } catch (error) {
      if (error instanceof UnusableKey) throw fault('MALFORMED', error.message);
      throw error;
    }
  }
}
