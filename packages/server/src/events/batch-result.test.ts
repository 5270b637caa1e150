import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ERRORS } from '@tallystick/contract';
import type { DraftOutcome } from '../streams/log.ts';
import { testCall } from '../testing/test-call.ts';
import { batchAnswer, noteOf, readNote, refusalByCode } from './batch-result.ts';

const call = testCall({ operation: 'events.ingestBatch' });
const placed = (status: 'Appended' | 'Duplicate', index: number): DraftOutcome => ({
  status,
  eventId: `01KE000000000000000000000${index}`,
  index,
  receivedAtMs: 0,
});
const refusal = refusalByCode('VALIDATION_FAILED');
const known = { batchId: '01KE0000000000000000000009', acceptedAtMs: 0, transactional: false };

test('the kind of the answer follows from what became of the events', () => {
  const table: [
    outcomes: DraftOutcome[],
    refused: number[],
    kind: string,
    status: string,
    idempotent: boolean,
  ][] = [
    [[placed('Appended', 0)], [], 'Created', 'Completed', false],
    [[placed('Duplicate', 0)], [], 'Repeated', 'Completed', true],
    [[placed('Appended', 0), placed('Duplicate', 1)], [], 'Created', 'Completed', false],
    [[placed('Duplicate', 0)], [1], 'Partial', 'PartialSuccess', false],
    [[placed('Appended', 0)], [0], 'Partial', 'PartialSuccess', false],
    [[], [0, 1], 'Rejected', 'Failed', false],
    [[{ status: 'NotAppended', eventId: '' }], [0], 'Rejected', 'Failed', false],
    [[{ status: 'Conflict', eventId: 'x' }], [], 'Rejected', 'Failed', false],
  ];
  for (const [outcomes, refused, kind, status, idempotent] of table) {
    const refusals = new Map(refused.map((index) => [index, refusal]));
    const answer = batchAnswer(call, { ...known, refusals, outcomes }, false);
    assert.deepEqual([answer.kind, answer.body.status, answer.body.idempotent], [kind, status, idempotent]);
    const { totalCount, successCount, failureCount, results } = answer.body;
    assert.equal(successCount + failureCount, totalCount);
    assert.deepEqual(
      results.map(({ index }) => index),
      [...results.keys()],
    );
    assert.equal(answer.body.error?.code, kind === 'Rejected' ? 'BATCH_REJECTED' : undefined);
    assert.equal(batchAnswer(call, { ...known, refusals, outcomes }, true).kind, 'Repeated');
  }
});

test('the message of a batch of which nothing was stored accounts for every failure', () => {
  const notAppended: DraftOutcome = { status: 'NotAppended', eventId: '' };
  const rest = 'refused, and the batch is transactional, so the other';
  const table: [refused: number, others: number, expected: string][] = [
    [1, 0, '1 of 1 event was refused.'],
    [2, 0, '2 of 2 events were refused.'],
    [1, 1, `1 of 2 events was ${rest} one was not processed.`],
    [2, 3, `2 of 5 events were ${rest} 3 were not processed.`],
  ];
  for (const [refused, others, expected] of table) {
    const refusals = new Map(Array.from({ length: refused }, (_, index) => [index, refusal]));
    const outcomes = Array.from({ length: others }, () => notAppended);
    const { body } = batchAnswer(call, { ...known, transactional: others > 0, refusals, outcomes }, false);
    assert.equal(body.error?.message, `No event was stored: ${expected}`);
    assert.equal(body.failureCount, refused + others);
  }
});

test('the note of a batch is read as it was written', () => {
  const refusals = new Map([
    [3, refusal],
    [7, refusalByCode('TENANT_MISMATCH')],
  ]);
  assert.deepEqual(readNote(noteOf({ ...known, refusals })), {
    batchId: known.batchId,
    acceptedAtMs: 0,
    refused: [
      [3, 'VALIDATION_FAILED'],
      [7, 'TENANT_MISMATCH'],
    ],
  });
});

test('what is known by its code alone is explained by the catalogue', () => {
  assert.deepEqual(refusal, {
    code: 'VALIDATION_FAILED',
    message: ERRORS.VALIDATION_FAILED.meaning,
    details: [],
  });
});
