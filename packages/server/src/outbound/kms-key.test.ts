// A key of AWS KMS, asked by the SDK of AWS: the one in testing/ really encrypts.

import assert from 'node:assert/strict';
import { after, beforeEach, test } from 'node:test';
import { systemClock } from '../runtime/clock.ts';
import { KmsServer } from '../testing/kms-server.ts';
import { withAwsCredentials } from '../testing/aws-credentials.ts';
import { anyAddress, loopbackOnly } from './http/address-rules.ts';
import { createOutboundHttp } from './http/guarded-http.ts';
import { createKmsKey, type KmsParts } from './kms-key.ts';
import { RemoteKeyError } from './remote-key-error.ts';

const http = createOutboundHttp({ clock: systemClock, https: anyAddress, http: loopbackOnly });
const BOUND = { 'tallystick:keyring': '00000000000000aa', 'tallystick:place': '0' };
const SECRET = new TextEncoder().encode('a data key of 32 bytes, or so   ');

const credentials = withAwsCredentials();
after(() => credentials.restore());
beforeEach(() => credentials.use('AKIDGOOD'));

function keyOf(kms: KmsServer, keyId: string, parts: Partial<KmsParts> = {}) {
  return createKmsKey({
    keyId,
    region: kms.region,
    endpoint: kms.url,
    http,
    clock: systemClock,
    ...parts,
  });
}

const saying =
  (...parts: string[]) =>
  (error: unknown) => {
    assert.ok(error instanceof RemoteKeyError, String(error));
    for (const part of parts) assert.ok(error.message.includes(part), error.message);
    assert.doesNotMatch(error.message, /a secret of the test|\n/);
    return true;
  };

test('what is encrypted is decrypted with its encryption context alone; the region is that of the ARN', async () => {
  await using kms = await KmsServer.start();
  const key = keyOf(kms, kms.makeKey(), { region: undefined });
  const encrypted = await key.encrypt(SECRET, BOUND);
  assert.deepEqual(new Uint8Array(await key.decrypt(encrypted, BOUND)), SECRET);
  assert.deepEqual(kms.contexts, [BOUND, BOUND]);
  assert.deepEqual(kms.asked, ['TrentService.Encrypt', 'TrentService.Decrypt']);
  await assert.rejects(
    key.decrypt(encrypted, { ...BOUND, 'tallystick:place': '1' }),
    saying('of AWS KMS does not open this', '(InvalidCiphertextException)'),
  );
});

test('another key of the same account does not stand in for the one that is named', async () => {
  await using kms = await KmsServer.start();
  const [own, other] = [kms.makeKey(), kms.makeKey()];
  const encrypted = await keyOf(kms, other).encrypt(SECRET, BOUND);
  await assert.rejects(
    keyOf(kms, own).decrypt(encrypted, BOUND),
    saying(`the key ${own} of AWS KMS has not sealed this: another key has (IncorrectKeyException`),
  );
});

test('an alias that names another key now is said to', async () => {
  await using kms = await KmsServer.start();
  const [old, young] = [kms.makeKey(), kms.makeKey()];
  kms.aliases.set('alias/audit', old);
  const key = keyOf(kms, 'alias/audit');
  const encrypted = await key.encrypt(SECRET, BOUND);
  kms.aliases.set('alias/audit', young);
  await assert.rejects(key.decrypt(encrypted, BOUND), saying('alias/audit', 'another key has'));
  assert.deepEqual(new Uint8Array(await keyOf(kms, old).decrypt(encrypted, BOUND)), SECRET);
});

test('each refusal names the key and the reason in one line, without credentials', async () => {
  await using kms = await KmsServer.start();
  const arn = kms.makeKey();
  await assert.rejects(
    keyOf(kms, 'alias/none').encrypt(SECRET, BOUND),
    saying('the key alias/none of AWS KMS is not there (NotFoundException'),
  );
  credentials.use('AKIDOTHER');
  await assert.rejects(
    keyOf(kms, arn).encrypt(SECRET, BOUND),
    saying(`the key ${arn} of AWS KMS must not be used with these credentials (AccessDeniedException`),
  );
  await kms.server.goAway();
  await assert.rejects(keyOf(kms, arn).encrypt(SECRET, BOUND), saying('cannot be asked', 'ECONNREFUSED'));
});

test('where nothing says the region or the credentials, that is said', async () => {
  await using kms = await KmsServer.start();
  await assert.rejects(
    keyOf(kms, 'alias/audit', { region: undefined }).encrypt(SECRET, BOUND),
    saying('the key alias/audit of AWS KMS cannot be used', 'Region is missing'),
  );
  credentials.use(undefined);
  await assert.rejects(
    keyOf(kms, kms.makeKey()).encrypt(SECRET, BOUND),
    saying('of AWS KMS cannot be used', 'CredentialsProviderError'),
  );
});

test('without the package of AWS the start says what to install, and it is looked for again', async () => {
  await using kms = await KmsServer.start();
  let isThere = false;
  const load = async () => {
    if (isThere) return await import('@aws-sdk/client-kms');
    throw Object.assign(new Error('Cannot find package'), { code: 'ERR_MODULE_NOT_FOUND' });
  };
  const key = keyOf(kms, kms.makeKey(), { load });
  await assert.rejects(
    key.encrypt(SECRET, BOUND),
    saying('needs the package @aws-sdk/client-kms', '(ERR_MODULE_NOT_FOUND): install it beside tallystick'),
  );
  isThere = true;
  await key.encrypt(SECRET, BOUND);
});

test('a KMS that hangs is given up in time', async () => {
  await using kms = await KmsServer.start();
  const hanging = {
    send: () => new Promise<never>(() => {}),
    judgeAsWritten: () => undefined,
    judge: () => Promise.resolve(undefined),
    [Symbol.dispose]: () => {},
  };
  await assert.rejects(
    keyOf(kms, kms.makeKey(), { http: hanging, timeoutMs: 100 }).encrypt(SECRET, BOUND),
    saying('no whole answer within 100 ms'),
  );
});
