import assert from 'node:assert/strict';
import { test } from 'node:test';
import { BodyBudget } from './body-budget.ts';

test('bodies are refused past the bound, and what is given back can be taken again', () => {
  const budget = new BodyBudget(100);
  assert.equal(budget.take(60), undefined);
  assert.equal(budget.take(40), undefined);
  const refusal = budget.take(1);
  assert.equal(refusal?.code, 'SERVICE_UNAVAILABLE');
  assert.doesNotMatch(refusal.message, /\d/, 'how much others send is their affair');
  budget.giveBack(60);
  assert.equal(budget.take(60), undefined);
});
