// The catalogue is whole, and its tables agree.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ANSWER_KINDS } from './answer.ts';
import { AuditError, ERROR_CODES, ERRORS, isUnderstood } from './errors.ts';
import { REST_STATUS_OF_ANSWER, REST_STATUS_OF_ERROR } from './rest-status.ts';

test('every code has a status and a meaning, and no status is for a code that does not exist', () => {
  assert.deepEqual(Object.keys(REST_STATUS_OF_ERROR).sort(), [...ERROR_CODES].sort());
  assert.deepEqual(Object.keys(REST_STATUS_OF_ANSWER).sort(), Object.keys(ANSWER_KINDS).sort());
  for (const code of ERROR_CODES) {
    assert.match(code, /^[A-Z]+(_[A-Z]+)*$/);
    assert.match(ERRORS[code].meaning, /^[A-Z`].*\.$/, code);
  }
});

test('no status is outside the closed set', () => {
  const closed = new Set([
    200, 201, 202, 204, 206, 207, 304, 400, 401, 403, 404, 409, 422, 429, 500, 503, 504,
  ]);
  const used = [...Object.values(REST_STATUS_OF_ERROR), ...Object.values(REST_STATUS_OF_ANSWER)];
  for (const status of used) assert.ok(closed.has(status), String(status));
});

test('what is too much or out of order passes; what the caller sent wrongly or unreadably does not', () => {
  for (const code of ERROR_CODES) {
    const status = REST_STATUS_OF_ERROR[code];
    assert.equal(isUnderstood(code), status !== 400, code);
    if (status === 429 || status === 503) assert.equal(ERRORS[code].repeatHelps, true, code);
    if (status === 400 || status === 422)
      assert.deepEqual([ERRORS[code].mustAct, ERRORS[code].repeatHelps], ['Caller', false], code);
    if (ERRORS[code].mustAct === 'Nobody') assert.equal(ERRORS[code].repeatHelps, true, code);
  }
});

test('an AuditError carries its code, its details and its cause', () => {
  const cause = new Error('disk');
  const details = [{ field: 'payload', issue: 'is 70112 bytes; limit 65536' }];
  const error = new AuditError('PAYLOAD_TOO_LARGE', 'payload is 70112 bytes; limit 65536', {
    details,
    cause,
  });
  assert.ok(error instanceof Error);
  assert.deepEqual(
    [error.name, error.code, error.details, error.cause],
    ['AuditError', 'PAYLOAD_TOO_LARGE', details, cause],
  );
  const bare = new AuditError('FORBIDDEN', 'no');
  assert.deepEqual(bare.details, []);
  assert.equal('cause' in bare, false);
});
