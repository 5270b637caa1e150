// The signatures of deliveries against golden vectors, which were signed by the words of the specification and not by this code.

import assert from 'node:assert/strict';
import { createHmac } from 'node:crypto';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { canonicalJson, parseJson } from '@tallystick/evidence';
import { type Secrets, signatureHeaders, signedBody } from './signature.ts';

const FOLDER = join(import.meta.dirname, '../../../../vectors/webhooks/valid');
const requests = readdirSync(FOLDER).filter((name) => name.endsWith('.http'));

function readRequest(name: string) {
  const text = readFileSync(join(FOLDER, name), 'utf8');
  const end = text.indexOf('\n\n');
  const [, ...lines] = text.slice(0, end).split('\n');
  const headers = Object.fromEntries(lines.map((line) => line.split(': ', 2) as [string, string]));
  const secrets = readFileSync(join(FOLDER, name.replace('.http', '.secrets')), 'utf8')
    .trimEnd()
    .split('\n');
  return { headers, body: text.slice(end + 2), secrets: secrets as unknown as Secrets };
}

test('there are deliveries signed with each kind of secret, and with two', () => {
  assert.ok(requests.length >= 6, String(requests));
  const counts = new Set(requests.map((name) => readRequest(name).secrets.length));
  assert.deepEqual(counts, new Set([1, 2]));
});

for (const name of requests) {
  test(`signs ${name} as it is signed there`, () => {
    const { headers, body, secrets } = readRequest(name);
    const { signature: _, ...unsigned } = parseJson(body) as Record<string, unknown>;
    const texts = Object.entries(unsigned).map(([member, value]) => [member, canonicalJson(value)]);
    assert.equal(signedBody(Object.fromEntries(texts), secrets), body);
    const made = signatureHeaders(
      headers['webhook-id']!,
      Date.parse(headers['X-Audit-Timestamp']!),
      Buffer.from(body),
      secrets,
    );
    const shown = Object.entries(headers).filter(([header]) => /signature|^webhook-/i.test(header));
    assert.deepEqual(made, Object.fromEntries(shown));
  });
}

test('a secret that is nothing but the prefix is no empty key, by which anybody could sign', () => {
  const headers = signatureHeaders('id', 0, Buffer.from('{}'), ['whsec_']);
  const by = (key: string) => `v1,${createHmac('sha256', key).update('id.0.{}').digest('base64')}`;
  assert.equal(headers['webhook-signature'], by('whsec_'));
  assert.notEqual(headers['webhook-signature'], by(''));
});
