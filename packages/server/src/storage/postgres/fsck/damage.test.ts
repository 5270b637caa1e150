import assert from 'node:assert/strict';
import { test } from 'node:test';
import { EvidenceError } from '@tallystick/evidence';
import { orUnavailable } from '../connection/unavailable.ts';
import { faultOf } from './damage.ts';

/** As the database answers. */
const answer = (code: string, message: string) =>
  Object.assign(new Error(message), { code, severity: 'ERROR' });

test('what is wrong with the tables is a fault of theirs, also where whoever serves would be told to come again', () => {
  for (const code of ['XX001', 'XX002', '58P01', '42P01', '42703', '25P02']) {
    const fault = faultOf(orUnavailable(answer(code, `what ${code} says`)));
    assert.equal(fault.reason, 'MALFORMED');
    assert.equal(fault.message, `the database is damaged: what ${code} says`);
  }
});

test('a fault stays what it is, and a database that cannot be asked is no verdict', () => {
  const fault = new EvidenceError('ROOT_MISMATCH', 'another root');
  assert.equal(faultOf(fault), fault);
  for (const code of ['57P01', '53300', '58030', '08006']) {
    const away = orUnavailable(answer(code, 'away'));
    assert.throws(() => faultOf(away), away as Error);
  }
});
