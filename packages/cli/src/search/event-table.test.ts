import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { AuditEvent } from '@tallystick/contract';
import * as fc from 'fast-check';
import { EventTable } from './event-table.ts';
import { cutTo, padTo, widthOf } from '../output/fit-text.ts';

const EVENT: AuditEvent = {
  eventId: '01KE0000000000000000000042',
  tenantId: 'acme',
  kind: 'Event',
  sequence: 1,
  timestamp: '2026-01-02T03:04:05.678Z',
  receivedAt: '2026-01-02T03:04:06.000Z',
  correlationId: '7d3f0c52-6a3e-4b51-9a0e-2f6b1f3c9d11',
  actor: { actorType: 'User', userId: 'u-1' },
  action: 'Delete.Invoice',
  resource: { resourceType: 'Invoice', resourceId: 'INV-42' },
  classification: 'Internal',
  outcome: 'Success',
  submittedBy: 'system',
  integrity: {
    streamId: '01KE0000000000000000000001',
    leafIndex: 0,
    leafHash: '00',
    previousHash: '00',
    status: 'Chained',
  },
};

const long = (userId: string, resourceId = 'INV-42'): AuditEvent => ({
  ...EVENT,
  actor: { actorType: 'User', userId },
  resource: { resourceType: 'Invoice', resourceId },
});

test('on a terminal no line is wider than it, whatever the events say and whenever they come', () => {
  const text = fc.string({ unit: 'grapheme', minLength: 1, maxLength: 60 });
  fc.assert(
    fc.property(
      fc.integer({ min: 20, max: 200 }),
      fc.array(fc.tuple(text, text), { maxLength: 4 }),
      (columns, texts) => {
        const table = new EventTable(columns);
        const lots = texts.map(([userId, resourceId]) => table.lines([long(userId, resourceId)]));
        for (const line of lots.flat()) assert.ok(widthOf(line) <= columns, line);
      },
    ),
    { seed: 7, numRuns: 300 },
  );
});

test('on a terminal the longest column is cut first, and says so', () => {
  const [, line] = new EventTable(110).lines([long('u'.repeat(80))]);
  assert.equal(
    line,
    `2026-01-02T03:04:05.678Z  Delete.Invoice    ${'u'.repeat(22)}…  Invoice INV-42    Success  Internal`,
  );
});

test('on a narrow terminal an event takes more lines, and every column stays', () => {
  const event = long('user-of-a-long-name@example.com', 'INV-2026-000042');
  assert.deepEqual(new EventTable(60).lines([event]), [
    'TIME                      ACTION            OUTCOME',
    '  ACTOR                 RESOURCE              CLASSIFICATION',
    '2026-01-02T03:04:05.678Z  Delete.Invoice    Success',
    '  user-of-a-long-name…  Invoice INV-2026-00…  Internal',
  ]);
  assert.deepEqual(new EventTable(36).lines([event]), [
    'TIME                      OUTCOME',
    '  ACTION            CLASSIFICATION',
    '  ACTOR',
    '  RESOURCE',
    '2026-01-02T03:04:05.678Z  Success',
    '  Delete.Invoice    Internal',
    '  user-of-a-long-name@example.com',
    '  Invoice INV-2026-000042',
  ]);
});

test('a column is cut to a few letters in no width: rather an event takes another line', () => {
  const event = { ...long('u'.repeat(40), 'r'.repeat(40)), action: 'a'.repeat(40) };
  for (let columns = 34; columns <= 130; columns++) {
    const text = new EventTable(columns).lines([event]).join('\n');
    for (const start of ['a'.repeat(11), 'u'.repeat(11), 'Invoice rrr', '05.678Z', 'Success', 'Internal'])
      assert.ok(text.includes(start), `${columns} columns:\n${text}`);
  }
});

test('what is short is not spread over lines where one has room', () => {
  const lines = new EventTable(80).lines([
    { ...EVENT, action: 'Login', resource: { resourceType: 'Doc', resourceId: '1' } },
  ]);
  assert.deepEqual(lines, [
    'TIME                      ACTION    ACTOR     RESOURCE   OUTCOME  CLASSIFICATION',
    '2026-01-02T03:04:05.678Z  Login     u-1       Doc 1      Success  Internal',
  ]);
});

test('a terminal that does not tell its width cuts nothing', () => {
  const [titles, line] = new EventTable(0).lines([long('u'.repeat(300))]);
  assert.match(titles!, /^TIME .*CLASSIFICATION$/);
  assert.ok(line!.includes('u'.repeat(300)));
});

test('elsewhere nothing is cut, and later lots have no titles', () => {
  const table = new EventTable(undefined);
  assert.equal(table.lines([EVENT]).length, 2);
  const [line, ...others] = table.lines([long('u'.repeat(300))]);
  assert.ok(line!.includes('u'.repeat(300)));
  assert.deepEqual(others, []);
});

test('an actor is shown by its identifier, else by its name, else by its type', () => {
  for (const [actor, shown] of [
    [{ actorType: 'User', userId: 'u-1', userName: 'ana' }, 'u-1'],
    [{ actorType: 'Service', serviceId: 's-1', serviceName: 'billing' }, 's-1'],
    [{ actorType: 'Service', serviceName: 'billing' }, 'billing'],
    [{ actorType: 'System' }, 'System'],
  ] as const) {
    const [, line] = new EventTable(undefined).lines([{ ...EVENT, actor }]);
    assert.match(line!, new RegExp(`Delete\\.Invoice {4}${shown} `));
  }
});

test('wide letters take two columns, marks none', () => {
  assert.deepEqual(['abc', '東京', 'é', 'e\u0301', '🙂', ''].map(widthOf), [3, 4, 1, 1, 2, 0]);
  assert.equal(cutTo('東京都', 4), '東…');
  assert.equal(cutTo('東京', 4), '東京');
  assert.equal(padTo('東京', 6), '東京  ');
});
