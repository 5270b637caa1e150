// Certificates and keys that are sound, and each way in which they are not.

import assert from 'node:assert/strict';
import { generateKeyPairSync } from 'node:crypto';
import { it } from 'node:test';
import { processorMs } from '../../../evidence/src/testing/processor-time.ts';
import { createAuthority } from '../testing/certificates.ts';
import { CERTIFICATE } from '../testing/self-signed.ts';
import { createJudgeTls } from './judge-tls.ts';

const NOW = Date.parse('2026-11-19T12:00:00Z');
const authority = createAuthority();
const { certificate, key } = authority.issue({ hosts: ['client'] });
const ca = authority.certificate;
const judge = createJudgeTls(() => NOW);
const issues = (tls: Parameters<typeof judge>[0]) =>
  judge(tls).map(({ field, issue }) => `${field} ${issue}`);

it('finds nothing wrong with what can be used', () => {
  for (const tls of [
    {},
    { ca },
    { ca: `# ours\n${ca}\n# and another\n${createAuthority('Another').certificate}` },
    { ca: CERTIFICATE },
    { certificate, key },
    { ca, certificate: `${certificate}${ca}`, key },
  ]) {
    assert.deepEqual(issues(tls), []);
  }
});

it('names text that is no certificate, one that is damaged, and one in the place of the other', () => {
  const damaged = certificate.replace(/M..../, 'MAAAA');
  const cases = [
    [{ ca: '' }, 'tls.ca has no certificate in PEM'],
    [{ ca: 'AAAA' }, 'tls.ca has no certificate in PEM'],
    [{ ca: damaged }, 'tls.ca has a certificate that cannot be read'],
    [{ ca: `${ca}${damaged}` }, 'tls.ca has a certificate, number 2, that cannot be read'],
    [{ certificate: damaged, key }, 'tls.certificate has a certificate that cannot be read'],
    [{ ca: `${ca}${key}` }, 'tls.ca has a PRIVATE KEY in it; only certificates belong here'],
    [
      { ca: certificate },
      'tls.ca has a certificate that is of no authority: it vouches for no other certificate',
    ],
    [{ certificate, key: 'AAAA' }, 'tls.key is no private key in PEM'],
    [{ certificate, key: certificate }, 'tls.key has a certificate in it; only a private key belongs here'],
  ] as const;
  for (const [tls, issue] of cases) assert.deepEqual(issues(tls), [issue]);
});

it('reads text with many beginnings once, and refuses a certificate that does not end', () => {
  const [other, cut] = ['-----BEGIN A-----'.repeat(1900), '-----BEGIN CERTIFICATE-----'.repeat(1200)];
  let found: string[] = [];
  // It took a tenth of a second for each of them.
  const tookMs = processorMs(() => (found = issues({ ca: cut, certificate: other })));
  assert.deepEqual(found, [
    'tls.ca has no certificate in PEM',
    'tls.certificate has a A in it; only certificates belong here',
  ]);
  assert.ok(tookMs < 50, `${tookMs} ms`);
  const unended = `${ca}${ca.slice(0, -30)}`;
  assert.deepEqual(issues({ ca: unended }), ['tls.ca has a certificate in it that does not end']);
});

it('names a certificate whose time is over, or has not begun', () => {
  const old = authority.issue({ hosts: ['client'], notAfter: new Date('2026-11-18T00:00:00Z') });
  const early = authority.issue({ hosts: ['client'], notBefore: new Date('2026-12-01T00:00:00Z') });
  assert.deepEqual(issues(old), [
    'tls.certificate has a certificate that has expired: it was valid until 2026-11-18',
  ]);
  assert.deepEqual(issues(early), [
    'tls.certificate has a certificate that is not valid yet: it will be from 2026-12-01',
  ]);
});

it('names a key of another certificate, of a later one in the chain, and one that needs a passphrase', () => {
  const other = authority.issue({ hosts: ['client'] });
  assert.deepEqual(issues({ certificate, key: other.key }), ['tls.key does not belong to the certificate']);
  assert.deepEqual(issues({ certificate: `${other.certificate}${certificate}`, key }), [
    'tls.key belongs to a later certificate of the chain; its own must be the first',
  ]);
  const { privateKey: locked } = generateKeyPairSync('ec', {
    namedCurve: 'P-256',
    publicKeyEncoding: { type: 'spki', format: 'pem' },
    privateKeyEncoding: { type: 'pkcs8', format: 'pem', cipher: 'aes-256-cbc', passphrase: 'secret' },
  });
  assert.deepEqual(issues({ certificate, key: locked }), [
    'tls.key needs a passphrase; give it without one, since it is stored encrypted',
  ]);
});

it('repeats nothing of a key', () => {
  for (const tls of [
    { ca: key },
    { certificate: key, key },
    { certificate, key: key.replace(/M..../, 'MAAAA') },
  ]) {
    const told = issues(tls).join();
    assert.ok(told.length > 0);
    for (const line of key.split('\n').slice(1, -2)) assert.ok(!told.includes(line.slice(0, 16)), told);
  }
});
