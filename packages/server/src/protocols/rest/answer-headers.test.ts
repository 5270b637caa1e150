import assert from 'node:assert/strict';
import { validateHeaderValue } from 'node:http';
import { test } from 'node:test';
import { type OperationName, operationNamed } from '@tallystick/contract';
import { dispositionOf, fillHeaders, headerTemplates } from './answer-headers.ts';

const fill = (name: OperationName, body: unknown, facts = {}, input = {}) =>
  fillHeaders(headerTemplates(operationNamed(name)), 'v2', body, facts, input);

test('placeholders are filled from the body, then the facts, then the input', () => {
  assert.deepEqual(fill('events.ingest', { eventId: 'E' }, {}, { eventId: 'X' }), {
    Location: '/api/v2/audit-events/E',
    'X-Event-Id': 'E',
  });
  assert.deepEqual(fill('events.get', {}, { etag: '"1"' }), {
    ETag: '"1"',
    'Cache-Control': 'private, no-cache',
  });
});

test('a header whose placeholder has no value is left out', () => {
  assert.deepEqual(fill('events.ingest', undefined), {});
  assert.deepEqual(fill('events.ingest', { eventId: null }), {});
  assert.deepEqual(fill('events.get', {}), { 'Cache-Control': 'private, no-cache' });
  assert.deepEqual(fill('health.get', { status: 'Healthy' }), {});
});

test('a value that no header can hold is a failure of ours', () => {
  assert.throws(() => fill('events.ingest', { eventId: 'a\r\nb' }), /Invalid character/);
});

test('a file name with any characters can be sent', () => {
  const table: [name: string, header: string][] = [
    ['export 1.json', 'attachment; filename="export 1.json"'],
    ['a"b\\c.csv', `attachment; filename="a_b_c.csv"; filename*=UTF-8''a%22b%5Cc.csv`],
    [
      'účet (€).csv',
      `attachment; filename="__et (_).csv"; filename*=UTF-8''%C3%BA%C4%8Det%20%28%E2%82%AC%29.csv`,
    ],
    ['a\r\nX: 1', `attachment; filename="a__X_ 1"; filename*=UTF-8''a%0D%0AX%3A%201`],
    ['../../etc/passwd', `attachment; filename=".._.._etc_passwd"; filename*=UTF-8''..%2F..%2Fetc%2Fpasswd`],
    ['50%.txt', `attachment; filename="50_.txt"; filename*=UTF-8''50%25.txt`],
    ["it's*.txt", `attachment; filename="it_s_.txt"; filename*=UTF-8''it%27s%2A.txt`],
    ['😀\ud800', `attachment; filename="__"; filename*=UTF-8''%F0%9F%98%80%EF%BF%BD`],
  ];
  for (const [name, header] of table) {
    assert.equal(dispositionOf(name), header);
    validateHeaderValue('Content-Disposition', header);
  }
});

test('the name of a file is left to the answer itself', () => {
  const filled = fill('exports.download', { fileName: '€' }, { contentRange: 'bytes 0-1/2' });
  assert.deepEqual(Object.keys(filled).sort(), ['Accept-Ranges', 'Cache-Control', 'Content-Range']);
});
