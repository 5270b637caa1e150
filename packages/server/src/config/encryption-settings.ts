// The settings of encryption at rest: what is encrypted, where the keyring is, and what seals it.

import { choice, list, path, secret, text, url, visible } from './kinds.ts';
import { optional, type Section, setting } from './setting.ts';

const provider = choice('File', 'AwsKms', 'Vault');
const vaultName = text('up to 200 letters, digits, `.`, `_` and `-`', (v) => /^(?!\.)[\w.-]{1,200}$/.test(v));
const vaultPath = text('names of letters, digits, `.`, `_` and `-` with `/` between them', (v) =>
  /^(?!\.)[\w.-]+(\/(?!\.)[\w.-]+)*$/.test(v),
);

export const ENCRYPTION = {
  Classifications: setting(
    list(choice('Public', 'Internal', 'Confidential', 'Secret', 'All', 'None')),
    ['Confidential', 'Secret'],
    'The classifications whose content is encrypted at rest: a list of them, or `All`, or `None`. It counts for new events; what is stored stays as it is.',
  ),
  Provider: setting(
    provider,
    'File',
    'What seals the keyring: `File` nothing, so that the permissions of the file are all that protects it; `AwsKms` a key of AWS KMS, which needs the package `@aws-sdk/client-kms`; `Vault` a key of the transit engine of HashiCorp Vault or OpenBao.',
  ),
  PreviousProvider: optional(
    provider,
    'only `Encryption__Provider` opens it',
    'What may have sealed the keyring before, on the way from one provider or key to another: it opens the keyring until `tallystick keys rewrap` has sealed it anew.',
  ),
  PreviousKey: optional(
    visible(1, 2048),
    'the key of that provider',
    'The key of `Encryption__PreviousProvider` by which the keyring was sealed, where it is another one.',
  ),
  Keyring: optional(
    path(),
    '`keyring.json` in the data directory; required on PostgreSQL in Production',
    'The file with the keys over all data keys, made at the first start. It belongs into no backup of the events; without it sealed content is lost. All nodes share it.',
  ),
  AwsKms: {
    KeyId: optional(
      visible(1, 2048),
      'required with `AwsKms`',
      'The key of AWS KMS: its ARN, its id or an alias. Credentials are found as the SDK of AWS does.',
    ),
    Region: optional(
      visible(1, 100),
      'as the SDK of AWS finds it',
      'The region of a key that is not named by its ARN, which has its own.',
    ),
    Endpoint: optional(
      url('https', 'http'),
      'that of the region',
      'Where AWS KMS is asked, such as a VPC endpoint, over https.',
    ),
  },
  Vault: {
    Address: optional(
      url('https', 'http'),
      'required with `Vault`',
      'Where the Vault is: `https://vault.example:8200`.',
    ),
    Mount: setting(vaultPath, 'transit', 'Where the transit engine is mounted.'),
    Key: optional(vaultName, 'required with `Vault`', 'The key of the transit engine.'),
    Namespace: optional(vaultPath, 'no namespace', 'The namespace of the engine.'),
    Token: optional(
      secret(visible(1, 8192)),
      'one of `TokenFile` and `Kubernetes__Role`',
      'A token that may encrypt and decrypt with the key.',
    ),
    TokenFile: optional(
      path(),
      'one of `Token` and `Kubernetes__Role`',
      'A file with the token, read for each call: an agent may renew it there.',
    ),
    Kubernetes: {
      Role: optional(
        visible(1, 200),
        'one of `Token` and `TokenFile`',
        'The role as which the service logs in with its Kubernetes account.',
      ),
      Mount: setting(vaultPath, 'kubernetes', 'Where that way to log in is mounted.'),
      TokenFile: setting(
        path(),
        '/var/run/secrets/kubernetes.io/serviceaccount/token',
        'The token of the Kubernetes account.',
      ),
    },
    Ca: optional(
      path(),
      'the authorities that the system trusts',
      'PEM file with the authorities that the certificate of the Vault is verified by.',
    ),
  },
} satisfies Section;
