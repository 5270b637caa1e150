// The examples of docs/reference/conditions.md, run: each condition on its event, each value through its detector, each fault.

import assert from 'node:assert/strict';
import { it } from 'node:test';
import { CONDITION_OPERATORS, DETECTORS, LIMITS } from '@tallystick/contract';
import { compileConditions } from '../packages/server/src/policies/compile-condition.ts';
import { parseConditions } from '../packages/server/src/policies/condition.ts';
import { type AskedEvent, factsOf } from '../packages/server/src/policies/testing/any-condition.ts';
import { readText } from './source.ts';

const page = readText('docs/reference/conditions.md');
const event = JSON.parse(/```json\n(.*?)```/s.exec(page)![1]!) as AskedEvent;
const AT = 'rules[0].conditions';

function holds(conditions: unknown, asked: AskedEvent): boolean {
  const { conditions: sound, faults } = parseConditions(conditions, AT);
  assert.ok(sound, JSON.stringify([conditions, faults]));
  return compileConditions(sound)(factsOf(asked));
}

it('every condition matches the event of the page, or does not, as the page says', () => {
  const rows = [...page.matchAll(/^\| `(\{[^`]*)` \| (yes|no) \|/gm)];
  assert.ok(rows.length > 50, `${rows.length} examples`);
  for (const [, conditions, said] of rows)
    assert.equal(holds(JSON.parse(conditions!), event) ? 'yes' : 'no', said, conditions);
});

it('every condition that has an event of its own matches it, or does not, as the page says', () => {
  const rows = [...page.matchAll(/^\| `(\{[^`]*)` \| `(\{[^`]*)` \| (yes|no) \|/gm)];
  assert.ok(rows.length > 10, `${rows.length} examples`);
  const { context: _, payload: __, ...facts } = event;
  for (const [row, conditions, content, said] of rows) {
    const asked = { ...facts, ...(JSON.parse(content!) as Partial<AskedEvent>) };
    assert.equal(holds(JSON.parse(conditions!), asked) ? 'yes' : 'no', said, row);
  }
});

it('every detector has its section, and finds there what the page says', () => {
  const sections = page.split('## Detectors\n')[1]!.split(/^## /m)[0]!.split(/^### /m).slice(1);
  assert.deepEqual(
    sections.map((section) => section.split('\n')[0]),
    [...DETECTORS],
  );
  for (const [i, section] of sections.entries()) {
    const rows = [...section.matchAll(/^\| `([^`]+)` \| (yes|no) \|/gm)];
    assert.ok(new Set(rows.map(([, , said]) => said)).size === 2, `${DETECTORS[i]} has examples of both`);
    for (const [, value, said] of rows) {
      const asked = { ...event, payload: { value: JSON.parse(value!) as unknown } };
      const found = holds({ payload: { detects: DETECTORS[i] } }, asked);
      assert.equal(found ? 'yes' : 'no', said, `${DETECTORS[i]} in ${value}`);
    }
  }
});

it('every fault of the page is what is answered, and the only one', () => {
  const rows = [...page.matchAll(/^\| `(\{[^`]*)` \| `(\.[^`]*)` \| (.+) \|$/gm)];
  assert.ok(rows.length > 10, `${rows.length} faults`);
  for (const [, conditions, field, issue] of rows) {
    const { faults = [] } = parseConditions(JSON.parse(conditions!), AT);
    assert.deepEqual(
      faults.map((fault) => ({ field: fault.field, issue: fault.issue })),
      [{ field: AT + field!, issue }],
      conditions,
    );
  }
});

it('every row of a table of examples is one that is run', () => {
  const examples = [...page.matchAll(/^\| (?:conditions|value) \| .*\n\|[-|]+\n((?:\|.*\n)+)/gm)];
  const run = /^\| `.+?` \| (?:`.+?` \| .+|(?:yes|no) \| .*)\|$/;
  const rows = examples.flatMap(([, table]) => table!.trimEnd().split('\n'));
  assert.ok(rows.length > 100, `${rows.length} rows`);
  assert.deepEqual(
    rows.filter((row) => !run.test(row)),
    [],
  );
});

it('the page has every operator and every limit', () => {
  const table = page.split('| operator | takes |')[1]!.split('\n\n')[0]!;
  const listed = [...table.matchAll(/^\| (`.+?) \|/gm)].flatMap(([, cell]) =>
    [...cell!.matchAll(/`(\w+)`/g)].map(([, name]) => name),
  );
  assert.deepEqual(listed, [...CONDITION_OPERATORS]);
  const unwrapped = page.replaceAll('\n', ' ');
  const written = (limit: number) => limit.toLocaleString('en-US');
  for (const passage of [
    `at most ${LIMITS.conditionsMax} conditions`,
    `at most ${LIMITS.conditionPathStepsMax} steps and ${LIMITS.conditionPathLengthMax} characters`,
    `a list ${written(LIMITS.conditionItemsMax)} items`,
    `a text ${written(LIMITS.conditionTextLengthMax)} characters`,
  ])
    assert.ok(unwrapped.includes(passage), passage);
});
