import assert from 'node:assert/strict';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, test } from 'node:test';
import { createAuthority } from '../testing/certificates.ts';
import { CERTIFICATE, KEY } from '../testing/self-signed.ts';
import { loadConfig } from './config.ts';
import { readTlsFiles, readTlsFilesAgain } from './tls-files.ts';

const folder = mkdtempSync(join(tmpdir(), 'tallystick-tls-'));
after(() => rmSync(folder, { recursive: true }));

function read(certificate: string, key: string) {
  const variables = { Server__Tls__Certificate: certificate, Server__Tls__Key: key };
  return readTlsFiles(loadConfig({ variables, workingDirectory: folder }).config);
}

test('each file that cannot be read is one line', () => {
  const [certificate, key] = [join(folder, 'c.pem'), join(folder, 'k.pem')];
  assert.throws(() => read(certificate, key), {
    name: 'ConfigError',
    problems: [
      `Server__Tls__Certificate: cannot read ${certificate} (ENOENT)`,
      `Server__Tls__Key: cannot read ${key} (ENOENT)`,
    ],
  });
});

test('files that are no certificate and its key are refused without their content', () => {
  const file = join(folder, 'secret.pem');
  writeFileSync(file, 'hunter2');
  assert.throws(() => read(file, file), {
    name: 'ConfigError',
    problems: [`Server__Tls__Certificate: ${file} and ${file} are no certificate and its key`],
  });
});

const OTHER = createAuthority().issue({ hosts: ['other'] });
const half = (pem: string) => pem.slice(0, pem.length / 2);
const PAIRS: readonly [string, { readonly certificate: string; readonly key: string }][] = [
  ['an empty certificate', { certificate: '', key: KEY }],
  ['an empty key', { certificate: CERTIFICATE, key: '' }],
  ['two empty files', { certificate: '', key: '' }],
  ['the key of another certificate', { certificate: CERTIFICATE, key: OTHER.key }],
  ['half of a certificate', { certificate: half(CERTIFICATE), key: KEY }],
  ['half of a key', { certificate: CERTIFICATE, key: half(KEY) }],
  ['half of a chain', { certificate: `${CERTIFICATE}\n${half(OTHER.certificate)}`, key: KEY }],
];

for (const [what, pair] of PAIRS) {
  test(`${what} is refused, at the start and while the service runs`, async () => {
    const names = { certificate: join(folder, 'c.pem'), key: join(folder, 'k.pem') };
    writeFileSync(names.certificate, pair.certificate);
    writeFileSync(names.key, pair.key);
    const expected = {
      name: 'ConfigError',
      problems: [
        `Server__Tls__Certificate: ${names.certificate} and ${names.key} are no certificate and its key`,
      ],
    };
    assert.throws(() => read(names.certificate, names.key), expected);
    await assert.rejects(readTlsFilesAgain(names), expected);
  });
}

test('a certificate with its chain is taken, and so is one file with both', () => {
  const [certificate, key] = [join(folder, 'chain.pem'), join(folder, 'both.pem')];
  writeFileSync(certificate, `${CERTIFICATE}\n${OTHER.certificate}`);
  writeFileSync(key, `${KEY}\n${CERTIFICATE}`);
  assert.equal(read(certificate, key)?.key, `${KEY}\n${CERTIFICATE}`);
  assert.ok(read(key, key));
});
