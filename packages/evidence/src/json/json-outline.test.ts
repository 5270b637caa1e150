// How the outline of a canonical text is read; that it is right for any text is a property of canonicalBytes.

import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { textOf, utf8 } from '../bytes.ts';
import { canonicalBytes } from './canonical-bytes.ts';
import type { JsonOutline } from './json-outline.ts';

describe('JsonOutline', () => {
  const outlineOf = (text: string, outlineLevels: number): JsonOutline =>
    canonicalBytes(utf8(text), { depthMax: 34, outlineLevels })!.outline;
  const inside = (outline: JsonOutline, parent: number = outline.root): [string | undefined, string][] => {
    const found: [string | undefined, string][] = [];
    for (let node = outline.first(parent); node < outline.end(parent); node = outline.next(node)) {
      found.push([outline.key(node), textOf(outline.value(node))]);
    }
    return found;
  };

  it('finds the members of an event', () => {
    const outline = outlineOf('{"payload":{"b":1,"a":2},"action":"x","context":{}}', 1);
    assert.deepEqual(inside(outline), [
      ['action', '"x"'],
      ['context', '{}'],
      ['payload', '{"a":2,"b":1}'],
    ]);
    const payload = outline.member(outline.root, utf8('payload'))!;
    assert.deepEqual([outline.from(payload), outline.to(payload)], [37, 50]);
    assert.deepEqual(inside(outline, payload), []);
    assert.equal(outline.member(outline.root, utf8('actor')), undefined);
  });

  it('finds the events of a batch and the members of each, though all of them move', () => {
    const text = '{"transactional":true,"events":[{"b":[{"y":1,"x":2}],"a":{"d":1,"c":2}},{"c":3,"a":1}]}';
    const outline = outlineOf(text, 3);
    assert.deepEqual(
      inside(outline).map(([key]) => key),
      ['events', 'transactional'],
    );
    const events = outline.member(outline.root, utf8('events'))!;
    const first = outline.first(events);
    const second = outline.next(first);
    assert.equal(outline.next(second), outline.end(events));
    assert.equal(outline.key(first), undefined);
    assert.deepEqual(inside(outline, first), [
      ['a', '{"c":2,"d":1}'],
      ['b', '[{"x":2,"y":1}]'],
    ]);
    assert.deepEqual(inside(outline, second), [
      ['a', '1'],
      ['c', '3'],
    ]);
  });

  it('has the root only where nothing is outlined', () => {
    for (const text of ['1', '[]', '{}']) assert.deepEqual(inside(outlineOf(text, 3)), []);
    const outline = outlineOf('{"b":1,"a":[2]}', 0);
    assert.deepEqual(inside(outline), []);
    assert.equal(textOf(outline.value(outline.root)), '{"a":[2],"b":1}');
    assert.equal(outline.key(outline.root), undefined);
  });

  it('tells keys apart that begin alike', () => {
    const outline = outlineOf('{"a":1,"ab":2,"é":3,"":4}', 1);
    for (const [key, value] of [
      ['a', '1'],
      ['ab', '2'],
      ['é', '3'],
      ['', '4'],
    ] as const) {
      assert.equal(textOf(outline.value(outline.member(outline.root, utf8(key))!)), value);
    }
    const items = outlineOf('[1]', 1);
    assert.equal(items.member(items.root, utf8('')), undefined);
  });
});
