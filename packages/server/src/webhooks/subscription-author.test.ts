import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Classification, Role } from '@tallystick/contract';
import { authored } from './subscription-author.ts';

const by = (clearance: Classification, ...roles: Role[]) => ({ roles, clearance });
const [ADMIN, OPERATOR] = [by('Secret', 'Admin'), by('Internal', 'Operator')];
const URL_ONE = 'https://one.example.com/';
const OF_ADMIN = { url: URL_ONE, clearance: 'Secret', author: ADMIN } as const;
const OF_OPERATOR = { url: URL_ONE, clearance: 'Internal', author: OPERATOR } as const;

test('who makes it, or gives it another URL, is the author', () => {
  const wanted = { url: 'https://two.example.com/' };
  for (const current of [undefined, OF_ADMIN, OF_OPERATOR])
    for (const caller of [ADMIN, OPERATOR])
      assert.deepEqual(authored(wanted, current, false, caller), {
        author: caller,
        clearance: caller.clearance,
        faults: [],
      });
});

test('other changes leave the author, and what was granted', () => {
  for (const caller of [ADMIN, OPERATOR]) {
    const kept = authored(OF_ADMIN, OF_ADMIN, false, caller);
    assert.deepEqual(kept, { author: ADMIN, clearance: 'Secret', faults: [] });
    const own = authored(OF_OPERATOR, OF_OPERATOR, false, caller);
    assert.deepEqual(own, { author: OPERATOR, clearance: 'Internal', faults: [] });
  }
});

test('other certificates or filters leave the rights that both have, and the roles by which either is denied', () => {
  const both = { roles: ['Admin', 'Operator'], clearance: 'Internal' };
  const { author, clearance } = authored({ url: URL_ONE }, OF_ADMIN, true, OPERATOR);
  assert.deepEqual([author, clearance], [both, 'Internal']);
  assert.equal(authored(OF_ADMIN, OF_ADMIN, true, OPERATOR).faults.length, 1);
  assert.deepEqual(authored(OF_OPERATOR, OF_OPERATOR, true, ADMIN).author, {
    roles: ['Operator', 'Admin'],
    clearance: 'Internal',
  });
});

test('nobody raises the clearance above their own, or above the author’s', () => {
  const low = { ...OF_ADMIN, clearance: 'Public' } as const;
  const raise = (clearance: Classification, caller: typeof ADMIN, current = low) =>
    authored({ url: URL_ONE, clearance }, current, false, caller).faults.map(({ issue }) => issue);
  assert.deepEqual(raise('Secret', ADMIN), []);
  assert.deepEqual(raise('Internal', OPERATOR), []);
  assert.match(raise('Confidential', OPERATOR).join(), /must be at most Internal/);
  const ofOperator = { ...low, author: OPERATOR };
  assert.match(
    authored({ url: URL_ONE, clearance: 'Secret' }, ofOperator, false, ADMIN).faults[0]?.issue ?? '',
    /must be at most Internal/,
  );
});
