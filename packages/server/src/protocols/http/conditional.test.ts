import assert from 'node:assert/strict';
import { test } from 'node:test';
import { entityTagOf, namesTag } from './conditional.ts';

test('a tag is strong, quoted, and another for another text', () => {
  assert.match(entityTagOf('{}'), /^"[\w-]{22}"$/);
  assert.equal(entityTagOf('{}'), entityTagOf('{}'));
  assert.notEqual(entityTagOf('{}'), entityTagOf('{ }'));
  assert.match(entityTagOf('{}', 'gzip'), /^"[\w-]{22}-gzip"$/, 'and for another coding');
});

test('If-None-Match names a tag in a list, weakly or by a star', () => {
  const tag = '"abc"';
  for (const named of ['"abc"', 'W/"abc"', '*', ' * ', '"x", "abc"', '"x,y",W/"abc" , "z"', '"x","abc"']) {
    assert.equal(namesTag(named, tag), true, named);
    assert.equal(namesTag(named, `W/${tag}`), true, named);
  }
  for (const other of [undefined, '', 'abc', '"ab"', '"abc', '"ABC"', '"x", "y"', '"a"b"c"', ',']) {
    assert.equal(namesTag(other, tag), false, String(other));
  }
});
