import assert from 'node:assert/strict';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, test } from 'node:test';
import { loadConfig } from './config.ts';
import { readTlsFiles } from './tls-files.ts';

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
