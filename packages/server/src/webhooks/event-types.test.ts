import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Subscription } from '@tallystick/contract';
import { subscribedTypes } from './event-types.ts';

const typesOf = (...eventTypes: Subscription['eventTypes']) => [...subscribedTypes({ eventTypes })];

test('both spellings mean the same, and one name may mean several types', () => {
  assert.deepEqual(typesOf('AuditEventReceived'), ['AuditEventReceived']);
  assert.deepEqual(typesOf('event.notification', 'AuditEventReceived'), ['AuditEventReceived']);
  assert.deepEqual(typesOf('EventStreamSealed'), ['EventStreamSealed']);
  assert.deepEqual(typesOf('system.event', 'export.failed'), [
    'ExportFailed',
    'EventStreamSealed',
    'SystemStatusChanged',
  ]);
  assert.equal(typesOf('*').length, 7);
});
