import assert from 'node:assert/strict';
import { test } from 'node:test';
import { type OperationName, operationNamed } from '@tallystick/contract';
import { fillHeaders, headerTemplates } from './answer-headers.ts';

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
