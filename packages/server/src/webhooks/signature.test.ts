// The signatures of deliveries against golden vectors, which were signed by the words of the specification and not by this code.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { canonicalJson, parseJson } from '@tallystick/evidence';
import { goldenDeliveries } from '../../../../tests/golden-deliveries.ts';
import { type Secrets, signatureHeaders, signedBody } from './signature.ts';

const golden = goldenDeliveries().filter(({ isValid }) => isValid);

test('there are deliveries signed with each kind of secret, and with two', () => {
  assert.ok(golden.length >= 7, String(golden.length));
  assert.deepEqual(new Set(golden.map(({ secrets }) => secrets.length)), new Set([1, 2]));
});

for (const { path, headers, body, secrets: all } of golden) {
  test(`signs ${path} as it is signed there`, () => {
    const secrets = all as unknown as Secrets;
    const { signature: _, ...unsigned } = parseJson(body.toString()) as Record<string, unknown>;
    const texts = Object.entries(unsigned).map(([member, value]) => [member, canonicalJson(value)]);
    assert.equal(signedBody(Object.fromEntries(texts), secrets), body.toString());
    const made = signatureHeaders(
      headers['webhook-id']!,
      Date.parse(headers['x-audit-timestamp']!),
      body,
      secrets,
    );
    const lower = Object.entries(made).map(([name, value]) => [name.toLowerCase(), value]);
    const shown = Object.entries(headers).filter(([name]) => /signature|^webhook-/.test(name));
    assert.deepEqual(Object.fromEntries(lower), Object.fromEntries(shown));
  });
}
