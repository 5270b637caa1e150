// When the keys of an identity provider are fetched, and how long they count.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { errors, type FlattenedJWSInput } from 'jose';
import { createFakeClock } from '../testing/fake-clock.ts';
import { type ProviderKey, providerKey } from '../testing/openid-provider.ts';
import { createPublishedKeys, NEW_ID_FETCHES_MAX } from './openid-keys.ts';

const TIMES = { keptMs: 600_000, windowMs: 120_000, pauseMs: 1000 };
const [K1, K2] = [providerKey('k1'), providerKey('k2')];
const TOKEN: FlattenedJWSInput = { payload: '', signature: '' };

const jwkOf = ({ publicKey, kid, alg }: ProviderKey) => ({
  ...publicKey.export({ format: 'jwk' }),
  kid,
  alg,
});

function setUp(...keys: readonly ProviderKey[]) {
  const clock = createFakeClock();
  const provider = { published: keys.map(jwkOf) as object[], fetches: 0, isAway: false };
  const fetchKeys = () => {
    provider.fetches++;
    if (provider.isAway) return Promise.reject(new Error('away'));
    return Promise.resolve({ keys: provider.published });
  };
  const keyFor = createPublishedKeys(fetchKeys, clock, TIMES);
  const find = async (kid: string | undefined, alg = 'ES256') =>
    keyFor({ alg, ...(kid !== undefined && { kid }) }, TOKEN);
  return { clock, provider, find };
}

const isUnknown = (error: unknown) => error instanceof errors.JWKSNoMatchingKey;

test('keys are fetched once for all who need them, and again after their time', async () => {
  const { clock, provider, find } = setUp(K1);
  await Promise.all(Array.from({ length: 10 }, () => find('k1')));
  assert.equal(provider.fetches, 1);
  await clock.advance(TIMES.keptMs - 1);
  await find('k1');
  assert.equal(provider.fetches, 1);
  await clock.advance(1);
  await find('k1');
  assert.equal(provider.fetches, 2);
});

test('a key that is withdrawn counts until the keys are fetched again, and no longer, wherever the clock is set', async () => {
  const { clock, provider, find } = setUp(K1);
  await find('k1');
  provider.published = [jwkOf(K2)];
  clock.setNow(clock.now() - 86_400_000);
  await clock.advance(TIMES.keptMs - 1);
  await find('k1');
  await clock.advance(1);
  await assert.rejects(find('k1'), isUnknown);
});

test('a new key counts at once, right after the first fetch too; the old one is then known as it is published', async () => {
  const { provider, find } = setUp(K1);
  await find('k1');
  provider.published = [jwkOf(K1), jwkOf(K2)];
  await find('k2');
  await find('k1');
  provider.published = [jwkOf(K2)];
  await assert.rejects(find('unknown'), isUnknown);
  await assert.rejects(find('k1'), isUnknown);
});

test('for key ids that nobody has, only so many fetches are made in a while', async () => {
  const { clock, provider, find } = setUp(K1);
  await find('k1');
  for (let i = 0; i < 100; i++) await assert.rejects(find(`unknown-${i}`), isUnknown);
  assert.equal(provider.fetches, 1 + NEW_ID_FETCHES_MAX);
  await clock.advance(TIMES.windowMs);
  provider.published = [jwkOf(K1), jwkOf(K2)];
  await find('k2');
  assert.equal(provider.fetches, 2 + NEW_ID_FETCHES_MAX);
});

test('while the provider is away known keys count; others cannot be judged, and it is asked once in a while', async () => {
  const { clock, provider, find } = setUp(K1);
  await find('k1');
  provider.isAway = true;
  for (let i = 0; i < 20; i++) await assert.rejects(find(`unknown-${i}`), /away/);
  assert.equal(provider.fetches, 2);
  await find('k1');
  await clock.advance(TIMES.keptMs);
  for (let i = 0; i < 20; i++) await assert.rejects(find('k1'), /away/);
  assert.equal(provider.fetches, 3);
  provider.isAway = false;
  await clock.advance(TIMES.pauseMs);
  await find('k1');
});

test('what is published and is no set of public keys, or a key that is too short, is a fault of the provider', async () => {
  const short = providerKey('k1', 'RS256', 1024);
  const secret = { ...K1.privateKey.export({ format: 'jwk' }), kid: 'k1', alg: 'ES256' };
  const table: [what: string, keys: unknown, alg: string][] = [
    ['a short key', [jwkOf(short)], 'RS256'],
    ['a private key', [secret], 'ES256'],
    ['a point that is not on the curve', [{ ...jwkOf(K1), x: jwkOf(K1).y }], 'ES256'],
    ['no list', {}, 'ES256'],
    ['a list of texts', ['k1'], 'ES256'],
  ];
  for (const [what, keys, alg] of table) {
    const { provider, find } = setUp();
    provider.published = keys as object[];
    await assert.rejects(find('k1', alg), (error) => !isUnknown(error), what);
  }
});

test('a token that names no key gets the only one that it can mean', async () => {
  const { provider, find } = setUp(K1);
  await find(undefined);
  provider.published = [jwkOf(K1), jwkOf(K2)];
  await find('k2');
  await assert.rejects(find(undefined), (error) => error instanceof errors.JWKSMultipleMatchingKeys);
});
