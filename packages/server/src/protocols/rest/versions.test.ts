import assert from 'node:assert/strict';
import { test } from 'node:test';
import { AuditError, type Version } from '@tallystick/contract';
import { readVersion } from './versions.ts';

type Readers = { query?: string[]; header?: string; accept?: string };

const read = (path: Version | undefined, { query = [], header, accept }: Readers) =>
  readVersion(path, { 'x-version': header, accept }, query);

const codeOf = (run: () => unknown): string => {
  try {
    run();
  } catch (error) {
    return error instanceof AuditError ? error.code : String(error);
  }
  return 'none';
};

test('without a version anywhere it is 1.0', () => {
  assert.equal(read(undefined, {}), 'v1');
  assert.equal(read(undefined, { accept: 'application/json' }), 'v1');
  assert.equal(read(undefined, { accept: 'application/vnd.verse+json; q=0.5; version=2' }), 'v1');
});

test('each reader alone decides, in every spelling that exists', () => {
  const spellings: [string, Version][] = [
    ['1', 'v1'],
    ['1.0', 'v1'],
    ['2', 'v2'],
    ['2.0', 'v2'],
  ];
  for (const [name, version] of spellings) {
    assert.equal(read(undefined, { query: [name] }), version);
    assert.equal(read(undefined, { header: name }), version);
    for (const accept of [
      `application/json;ver=${name}`,
      `application/json; ver=${name}; q=0.9`,
      `application/json; q=0.9; ver="${name}"`,
      `text/html, application/json;VER=${name}`,
    ]) {
      assert.equal(read(undefined, { accept }), version, accept);
    }
  }
});

test('readers that agree are fine, with one another and with the path', () => {
  const all = { query: ['2.0'], header: '2', accept: 'application/json;ver=2.0' };
  assert.equal(read(undefined, all), 'v2');
  assert.equal(read('v2', all), 'v2');
  assert.equal(read(undefined, { query: ['1', '1.0'] }), 'v1');
  assert.equal(read(undefined, { header: '1.0, 1' }), 'v1');
});

test('an unknown version in any reader is refused', () => {
  for (const name of ['3', '3.0', '0', '1.1', 'v1', '', ' ', '01', '1.00', '1,5', 'latest', '١']) {
    const readers: Readers[] = [
      { query: [name] },
      { header: name },
      { accept: `application/json;ver="${name}"` },
    ];
    for (const reader of readers) {
      assert.equal(
        codeOf(() => read(undefined, reader)),
        'UNSUPPORTED_API_VERSION',
        JSON.stringify(reader),
      );
      assert.equal(
        codeOf(() => read('v1', reader)),
        'UNSUPPORTED_API_VERSION',
        JSON.stringify(reader),
      );
    }
  }
  assert.equal(
    codeOf(() => read(undefined, { accept: 'application/json;ver=' })),
    'UNSUPPORTED_API_VERSION',
  );
});

test('readers that disagree, or contradict the path, are refused', () => {
  const disagreeing: [Version | undefined, Readers][] = [
    [undefined, { query: ['1', '2'] }],
    [undefined, { query: ['1'], header: '2' }],
    [undefined, { header: '1', accept: 'application/json;ver=2' }],
    [undefined, { query: ['2'], accept: 'application/json;ver=1.0' }],
    [undefined, { header: '1, 2' }],
    [undefined, { accept: 'application/json;ver=1, text/html;ver=2' }],
    ['v1', { query: ['2'] }],
    ['v1', { header: '2.0' }],
    ['v2', { accept: 'application/json;ver=1.0' }],
  ];
  for (const [path, readers] of disagreeing) {
    assert.equal(
      codeOf(() => read(path, readers)),
      'UNSUPPORTED_API_VERSION',
      JSON.stringify([path, readers]),
    );
  }
});
