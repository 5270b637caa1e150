import assert from 'node:assert/strict';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, test } from 'node:test';
import { createAuthority } from '../testing/certificates.ts';
import { ConfigError } from './config-error.ts';
import { readOtelSettings } from './otel-settings.ts';

const folder = mkdtempSync(join(tmpdir(), 'tallystick-otel-'));
after(() => rmSync(folder, { recursive: true }));

const ENDPOINT = { OTEL_EXPORTER_OTLP_ENDPOINT: 'https://127.0.0.1:4318' };

function problems(variables: Record<string, string>): readonly string[] {
  try {
    readOtelSettings(variables);
    return [];
  } catch (error) {
    assert.ok(error instanceof ConfigError);
    return error.problems;
  }
}

function file(name: string, text: string): string {
  const path = join(folder, name);
  writeFileSync(path, text);
  return path;
}

test('what the exporters would do without is a wrong setting, named once', () => {
  const table: [name: string, value: string, allowed: string][] = [
    ['OTEL_EXPORTER_OTLP_ENDPOINT', 'localhost:4318', 'an http: or https: address'],
    ['OTEL_EXPORTER_OTLP_ENDPOINT', 'collector', 'an http: or https: address'],
    ['OTEL_EXPORTER_OTLP_ENDPOINT', 'http://127.0.0.1 ', 'an http: or https: address'],
    ['OTEL_EXPORTER_OTLP_METRICS_ENDPOINT', 'grpc://collector:4317', 'an http: or https: address'],
    ['OTEL_EXPORTER_OTLP_TIMEOUT', '10s', 'a whole number from 1 to 2147483647'],
    ['OTEL_EXPORTER_OTLP_TRACES_TIMEOUT', '0', 'a whole number from 1 to 2147483647'],
    ['OTEL_EXPORTER_OTLP_COMPRESSION', 'zstd', 'one of none, gzip'],
  ];
  for (const [name, value, allowed] of table)
    assert.deepEqual(problems({ ...ENDPOINT, [name]: value }), [
      `${name} is "${value}"; allowed: ${allowed}`,
    ]);
  const secret = problems({ OTEL_EXPORTER_OTLP_ENDPOINT: 'htp://user:secret@collector' });
  assert.deepEqual(secret, [
    'OTEL_EXPORTER_OTLP_ENDPOINT is "htp://***@collector"; allowed: an http: or https: address',
  ]);
});

test('what is not in force is not judged', () => {
  const traces = { OTEL_EXPORTER_OTLP_TRACES_ENDPOINT: 'http://127.0.0.1', OTEL_METRICS_EXPORTER: 'none' };
  assert.deepEqual(problems({ ...traces, OTEL_EXPORTER_OTLP_METRICS_TIMEOUT: 'x' }), []);
  assert.deepEqual(problems({ ...traces, OTEL_EXPORTER_OTLP_ENDPOINT: 'x' }), []);
  assert.deepEqual(problems({ OTEL_EXPORTER_OTLP_COMPRESSION: 'x' }), []);
  const empty = { OTEL_EXPORTER_OTLP_TIMEOUT: ' ', OTEL_EXPORTER_OTLP_CERTIFICATE: '' };
  assert.deepEqual(problems({ ...ENDPOINT, ...empty }), []);
});

test('files of certificates and keys are there, are such, and belong together', () => {
  const authority = createAuthority();
  const [own, other] = [authority.issue({ hosts: ['a'] }), authority.issue({ hosts: ['b'] })];
  const [ca, certificate] = [file('ca.pem', authority.certificate), file('own.pem', own.certificate)];
  const [key, otherKey] = [file('own.key', own.key), file('other.key', other.key)];
  const [nothing, gone] = [file('empty.pem', ''), join(folder, 'gone.pem')];
  const [CA, CERT, KEY] = ['CERTIFICATE', 'CLIENT_CERTIFICATE', 'CLIENT_KEY'].map(
    (what) => `OTEL_EXPORTER_OTLP_${what}`,
  ) as [string, string, string];
  const table: [Record<string, string>, string[]][] = [
    [{ [CA]: ca, [CERT]: certificate, [KEY]: key }, []],
    [{ [CA]: gone }, [`${CA}: cannot read ${gone} (ENOENT)`]],
    [{ [CA]: nothing }, [`${CA}: ${nothing} is no certificate`]],
    [{ [CERT]: certificate, [KEY]: gone }, [`${KEY}: cannot read ${gone} (ENOENT)`]],
    [
      { [CERT]: certificate, [KEY]: otherKey },
      [`${CERT}: ${certificate} and ${otherKey} are no certificate and its key`],
    ],
    [{ [KEY]: key }, [`${KEY} is of no use without the certificate of the client`]],
  ];
  for (const [variables, expected] of table)
    assert.deepEqual(problems({ ...ENDPOINT, ...variables }), expected);
});
