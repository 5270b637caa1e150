import assert from 'node:assert/strict';
import { test } from 'node:test';
import { formatPath, leadsTo, type QueryStep, type PathStep } from './field-path.ts';

test('a path is written with dots, brackets, and quotes where a key needs them', () => {
  const table: [path: QueryStep[], written: string][] = [
    [['payload'], 'payload'],
    [['payload', 'lines', 0, 'sku'], 'payload.lines[0].sku'],
    [['payload', 'lines', null], 'payload.lines[*]'],
    [['context', 'x-request_id', '$type', 'größe', '0'], 'context.x-request_id.$type.größe.0'],
    [['payload', 'a.b', 'due date', '*', ''], 'payload."a.b"."due date"."*".""'],
    [['payload', 'a"b\\c'], 'payload."a\\"b\\\\c"'],
  ];
  for (const [path, written] of table) assert.equal(formatPath(path), written);
});

test('a path of a query leads to its values, through lists and to their elements', () => {
  const table: [steps: QueryStep[], path: PathStep[], leads: boolean][] = [
    [['payload', 'a'], ['payload', 'a'], true],
    [['payload', 'a'], ['context', 'a'], false],
    [['payload', 'a'], ['payload', 'b'], false],
    [['payload', 'a'], ['payload'], false],
    [['payload', 'a'], ['payload', 'a', 'b'], false],
    // A list stands for each of its elements.
    [['payload', 'a'], ['payload', 'a', 3], true],
    [['payload', 'a'], ['payload', 'a', 3, 1], true],
    [['payload', 'a', 'b'], ['payload', 'a', 3, 'b'], true],
    [['payload', 'a', null, 'b'], ['payload', 'a', 3, 'b'], true],
    [['payload', 'a', 3, 'b'], ['payload', 'a', 3, 'b'], true],
    [['payload', 'a', 2, 'b'], ['payload', 'a', 3, 'b'], false],
    // An element is not a member, with any name.
    [['payload', 'a', null], ['payload', 'a', 'b'], false],
    [['payload', 'a', 3], ['payload', 'a', '3'], false],
    [['payload', 'a', '3'], ['payload', 'a', 3], false],
    [['payload', 'a', null], ['payload', 'a'], false],
    // Alone it is all that is below.
    [['payload'], ['payload'], true],
    [['payload'], ['payload', 'a', 'b', 0], true],
    [['payload'], ['context', 'payload'], false],
  ];
  for (const [steps, path, leads] of table) {
    assert.equal(leadsTo(steps, path), leads, `${formatPath(steps)} to ${formatPath(path)}`);
  }
});
