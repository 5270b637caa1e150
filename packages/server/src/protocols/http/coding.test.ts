import assert from 'node:assert/strict';
import { test } from 'node:test';
import { brotliDecompressSync, gunzipSync } from 'node:zlib';
import { codingFor, encode } from './coding.ts';

test('the coding with the greatest weight is taken, br before gzip, and none for short answers', () => {
  const table: [accept: string | undefined, coding: string | undefined][] = [
    [undefined, undefined],
    ['', undefined],
    ['identity', undefined],
    ['deflate, zstd', undefined],
    ['gzip', 'gzip'],
    ['GZIP', 'gzip'],
    ['x-gzip', 'gzip'],
    ['gzip, br', 'br'],
    ['gzip;q=1.0, br;q=0.5', 'gzip'],
    ['br;q=0, gzip;q=0.001', 'gzip'],
    ['br;q=0, gzip;q=0', undefined],
    ['*', 'br'],
    ['*;q=0', undefined],
    ['br;q=0, *', 'gzip'],
    ['gzip; q = 0.5', 'gzip'],
    ['gzip;q=nonsense', undefined],
    ['gzipped', undefined],
    ['identity, gzip;q=0.5', undefined],
    ['identity;q=0.5, gzip', 'gzip'],
    ['identity;q=0.5, gzip;q=0.5', 'gzip'],
    ['identity;q=0, gzip;q=0.1', 'gzip'],
    ['identity;q=0', undefined],
    ['gzip;q=1.5', undefined],
    ['gzip;q=0.5, *', 'br'],
  ];
  for (const [accept, coding] of table) {
    assert.equal(codingFor(accept, 1024), coding, String(accept));
    assert.equal(codingFor(accept, 1023), undefined);
  }
});

test('what is encoded decodes to the text', async () => {
  const text = `{"text":"${'späť €😀 '.repeat(500)}"}`;
  assert.equal(brotliDecompressSync(await encode('br', text)).toString(), text);
  assert.equal(gunzipSync(await encode('gzip', text)).toString(), text);
});
