import assert from 'node:assert/strict';
import { test } from 'node:test';
import { EvidenceError } from '@tallystick/evidence';
import { orUnavailable } from '../connection/unavailable.ts';
import { faultOf } from './damage.ts';

/** An error as the database returns it. */
const answer = (code: string, message: string) =>
  Object.assign(new Error(message), { code, severity: 'ERROR' });

test('damaged tables are a fault, also where the service would report an unavailable database', () => {
  for (const code of ['XX001', 'XX002', '58P01', '42P01', '42703', '25P02']) {
    const fault = faultOf(orUnavailable(answer(code, `what ${code} says`)));
    assert.equal(fault.reason, 'MALFORMED');
    assert.equal(fault.message, `the database is damaged: what ${code} says`);
  }
});

test('a fault stays unchanged, and an unavailable database is not a verdict', () => {
  const fault = new EvidenceError('ROOT_MISMATCH', 'another root');
  assert.equal(faultOf(fault), fault);
  for (const code of ['57P01', '53300', '58030', '08006']) {
    const away = orUnavailable(answer(code, 'away'));
    assert.throws(() => faultOf(away), away as Error);
  }
});
