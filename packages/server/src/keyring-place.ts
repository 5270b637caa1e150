// Where the keyring is, and what seals it, by the settings: for the service and for the commands, which all ask its provider alike. It
// is asked over https at any address, since operators run it in private networks; over plain http, outside of Production, on loopback.

import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { type Classification, CLASSIFICATIONS } from '@tallystick/contract';
import type { Config } from './config/settings.ts';
import type { RemoteKey } from './keys/remote-key.ts';
import { anyAddress, loopbackOnly, noAddress } from './outbound/http/address-rules.ts';
import { createOutboundHttp } from './outbound/http/guarded-http.ts';
import type { OutboundHttp } from './outbound/http/outbound-http.ts';
import { createKmsKey } from './outbound/kms-key.ts';
import { createVaultKey, type VaultLogin } from './outbound/vault-key.ts';
import { systemClock } from './runtime/clock.ts';
import { createSystemRandom } from './runtime/random.ts';
import { StartError } from './start-error.ts';
import { FILE_PROVIDER, type KeyringProvider } from './storage/sealing/keyring-file.ts';
import { KEYRING_FILE, type KeyringPlace } from './storage/sealing/open-keyring.ts';
import { remoteProvider } from './storage/sealing/remote-provider.ts';
import { sealedBits } from './storage/sealing/sealing.ts';

/** The part of the settings that says so. */
export interface KeyringSettings extends Pick<Config, 'encryption' | 'environment'> {
  readonly storage: Pick<Config['storage'], 'dataDirectory'>;
}

/** Asks nobody yet. Throws StartError for a file of authorities that cannot be read. */
export function keyringOf(settings: KeyringSettings): KeyringPlace {
  const { encryption, storage } = settings;
  const { classifications, keyring, provider, previousProvider: previous, previousKey } = encryption;
  return {
    path: keyring ?? join(storage.dataDirectory, KEYRING_FILE),
    provider: providerOf(provider, settings),
    previous: previous && providerOf(previous, settings, previousKey),
    sealed: sealedBits(sealedOf(classifications)),
  };
}

/** The classifications whose content is encrypted at rest. */
export function sealedOf(
  classifications: KeyringSettings['encryption']['classifications'],
): Classification[] {
  return CLASSIFICATIONS.filter((each) => classifications.includes('All') || classifications.includes(each));
}

function providerOf(name: KeyringProvider['name'], settings: KeyringSettings, key?: string): KeyringProvider {
  if (name === 'File') return FILE_PROVIDER;
  const remote = name === 'AwsKms' ? kmsKeyOf(settings, key) : vaultKeyOf(settings, key);
  return remoteProvider(remote, createSystemRandom());
}

function kmsKeyOf(settings: KeyringSettings, key?: string): RemoteKey {
  const { keyId, region, endpoint } = settings.encryption.awsKms;
  const http = wayOut(settings);
  return createKmsKey({ keyId: key ?? keyId!, region, endpoint, http, clock: systemClock });
}

function vaultKeyOf(settings: KeyringSettings, key?: string): RemoteKey {
  const { address, mount, namespace, key: own, ca } = settings.encryption.vault;
  const http = wayOut(settings, ca === undefined ? undefined : authoritiesIn(ca));
  const place = { address: address!, mount, namespace };
  return createVaultKey({ place, key: key ?? own!, login: loginOf(settings), http });
}

function loginOf({ encryption: { vault } }: KeyringSettings): VaultLogin {
  const { token, tokenFile, kubernetes } = vault;
  if (token !== undefined) return { token };
  if (tokenFile !== undefined) return { tokenFile };
  return { role: kubernetes.role!, mount: kubernetes.mount, accountTokenFile: kubernetes.tokenFile };
}

function wayOut({ environment }: KeyringSettings, authorities?: string): OutboundHttp {
  const http = environment === 'Production' ? noAddress : loopbackOnly;
  return createOutboundHttp({ clock: systemClock, https: anyAddress, http, authorities });
}

function authoritiesIn(file: string): string {
  try {
    return readFileSync(file, 'utf8');
  } catch (cause) {
    const code = cause instanceof Error && 'code' in cause ? String(cause.code) : 'unreadable';
    throw new StartError(`Encryption__Vault__Ca: cannot read ${file} (${code})`, { cause });
  }
}
