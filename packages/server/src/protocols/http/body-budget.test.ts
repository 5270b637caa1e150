import assert from 'node:assert/strict';
import { test } from 'node:test';
import { BodyBudget } from './body-budget.ts';

test('bodies are refused past the bound, and what is given back can be taken again', () => {
  const budget = new BodyBudget(100);
  assert.equal(budget.take('a', 30), undefined);
  assert.equal(budget.take('a', 20), undefined);
  const refusal = budget.take('a', 1);
  assert.equal(refusal?.code, 'SERVICE_UNAVAILABLE');
  assert.doesNotMatch(refusal.message, /\d/, 'how much others send is their affair');
  budget.giveBack('a', 30);
  assert.equal(budget.take('a', 30), undefined);
});

test('one who sends much leaves room for the others', () => {
  const budget = new BodyBudget(120);
  while (budget.take('loud', 1) === undefined);
  assert.equal(budget.take('second', 30), undefined);
  assert.equal(budget.take('third', 15), undefined);
  assert.equal(budget.take('third', 1)?.code, 'SERVICE_UNAVAILABLE');
  assert.equal(budget.take('fourth', 7), undefined);
  budget.giveBack('loud', 60);
  assert.equal(budget.take('third', 15), undefined);
});
