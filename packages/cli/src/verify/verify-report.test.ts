import assert from 'node:assert/strict';
import { test } from 'node:test';
import { EvidenceError } from '@tallystick/evidence';
import { reportRefusal } from './verify-report.ts';

test('a refusal says where: at an index, else on a line, else nowhere', () => {
  const told = (where?: { index?: number; line?: number }) => {
    const { text, json } = reportRefusal('a.jsonl', new EvidenceError('MALFORMED', 'no form', where));
    return [/reason +(.*)/.exec(text)![1], json['index'], json['line']];
  };
  assert.deepEqual(told({ index: 7 }), ['MALFORMED at index 7', 7, null]);
  assert.deepEqual(told({ line: 3 }), ['MALFORMED on line 3', null, 3]);
  assert.deepEqual(told(), ['MALFORMED', null, null]);
});
