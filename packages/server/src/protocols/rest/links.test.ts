import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Pagination } from '@tallystick/contract';
import { linkHeader, linksOf } from './links.ts';

const at = (cursor: string | null, previousCursor: string | null): Pagination => ({
  total: 1,
  totalRelation: 'Exact',
  limit: 1,
  cursor,
  previousCursor,
  hasMore: cursor !== null,
});

test('links keep what was asked and change the cursor alone', () => {
  const table: [query: string, self: string, next: string][] = [
    ['', '/x', '/x?cursor=N'],
    ['limit=2', '/x?limit=2', '/x?limit=2&cursor=N'],
    ['cursor=A&limit=2&action=a,b', '/x?cursor=A&limit=2&action=a,b', '/x?limit=2&action=a,b&cursor=N'],
    ['q=a+b%20c&q=d', '/x?q=a+b%20c&q=d', '/x?q=a+b%20c&q=d&cursor=N'],
    ['%63ursor=A&cursor', '/x?%63ursor=A&cursor', '/x?cursor=N'],
    ['cursors=1', '/x?cursors=1', '/x?cursors=1&cursor=N'],
    ['&&limit=2&', '/x?&&limit=2&', '/x?limit=2&cursor=N'],
  ];
  for (const [queryText, self, next] of table) {
    const links = linksOf({ path: '/x', queryText }, at('N', null));
    assert.deepEqual(links, { self, next, previous: null });
  }
});

test('a link is a URI and ends where it should, for any request', () => {
  const links = linksOf({ path: '/x', queryText: 'q="a>b<c é' }, at('N', 'P'));
  assert.equal(links.next, '/x?q=%22a%3Eb%3Cc%20%C3%A9&cursor=N');
  assert.equal(
    linkHeader(links),
    '</x?q=%22a%3Eb%3Cc%20%C3%A9&cursor=N>; rel="next", </x?q=%22a%3Eb%3Cc%20%C3%A9&cursor=P>; rel="prev"',
  );
});

test('the header has the links that there are, unless they would fill it', () => {
  const shown = (pagination: Pagination, queryText = '') =>
    linkHeader(linksOf({ path: '/x', queryText }, pagination));
  assert.equal(shown(at(null, null)), undefined);
  assert.equal(shown(at('N', null)), '</x?cursor=N>; rel="next"');
  assert.equal(shown(at(null, 'P')), '</x?cursor=P>; rel="prev"');
  assert.equal(shown(at('N', 'P'), `q=${'a'.repeat(5000)}`), undefined);
});
