import assert from 'node:assert/strict';
import { test } from 'node:test';
import { processorMs } from '../../testing/processor-time.ts';
import { preferredType } from './accept.ts';

test('the type with the greater weight is preferred, and JSON where nothing is', () => {
  const table: [accept: string | undefined, type: 'JSON' | 'text'][] = [
    [undefined, 'JSON'],
    ['', 'JSON'],
    ['*/*', 'JSON'],
    ['application/json', 'JSON'],
    ['application/*', 'JSON'],
    ['text/plain', 'text'],
    ['TEXT/Plain', 'text'],
    ['text/*', 'text'],
    ['text/plain; charset=utf-8', 'text'],
    ['text/plain;ver=1.0;q=0.9', 'text'],
    ['text/plain, */*', 'JSON'],
    ['text/plain, */*;q=0.1', 'text'],
    ['text/plain, application/json', 'JSON'],
    ['text/plain, application/json;q=0.9', 'text'],
    ['text/plain;q=0.9, application/json', 'JSON'],
    ['text/plain;q=0.5,application/json;q=0.4', 'text'],
    ['text/plain; q = 0.5 , application/json ; Q=0.4', 'text'],
    ['text/*;q=1, text/plain;q=0.1, application/json;q=0.2', 'JSON'],
    ['*/*;q=0.3, text/plain;q=0.2', 'JSON'],
    ['application/json;q=0, */*', 'text'],
    ['text/plain;q=0', 'JSON'],
    ['text/plain;q=0, */*', 'JSON'],
    ['image/png', 'JSON'],
    ['text/html, application/xhtml+xml, */*;q=0.8', 'JSON'],
    ['text/plain;q=nonsense', 'JSON'],
    ['text/plain;q=2', 'JSON'],
    ['text/plain;q=-1', 'JSON'],
    ['text/plain;q', 'JSON'],
    ['text/plain;q=', 'JSON'],
    ['text/plain;quality=0', 'text'],
    ['text', 'JSON'],
    ['text/plain/x', 'JSON'],
    [',,;q=1,/', 'JSON'],
    ['*', 'JSON'],
  ];
  for (const [accept, type] of table) {
    const preferred = preferredType(accept, ['application/json', 'text/plain']);
    assert.equal(preferred === 'text/plain' ? 'text' : 'JSON', type, String(accept));
  }
});

test('what is long and malformed is passed over in no time', async () => {
  const space = ' '.repeat(16_000);
  const longs = [
    'a/b;'.repeat(4000),
    `text/plain;q=${space}x`,
    `${space}x`,
    `a/b${space}x`,
    'a/b;q='.repeat(2000),
  ];
  const ms = await processorMs(() => {
    for (const long of longs) {
      assert.equal(preferredType(long, ['application/json', 'text/plain']), 'application/json');
    }
  });
  assert.ok(ms < 100, `${ms} ms`);
});
