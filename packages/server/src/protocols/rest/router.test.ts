import assert from 'node:assert/strict';
import { test } from 'node:test';
import * as fc from 'fast-check';
import { createRouter } from './router.ts';
import type { Route } from './routes.ts';

const routeTo = (method: string, url: string): Route => ({
  method,
  url,
  version: undefined,
  atRoot: true,
  ignoresQuery: false,
  bindings: new Map(),
});

const router = createRouter([
  routeTo('GET', '/events'),
  routeTo('POST', '/events'),
  routeTo('POST', '/events/batch'),
  routeTo('GET', '/events/:eventId'),
  routeTo('GET', '/events/:eventId/proof'),
  routeTo('GET', '/events/latest/raw'),
  routeTo('GET', '/tile/entries/*'),
  routeTo('GET', '/tile/:level/*'),
]);

const find = (method: string, path: string) => {
  const found = router(method, path);
  return found && [found.route.url, found.parameters];
};

test('a path leads to its route, by its method', () => {
  assert.deepEqual(find('POST', '/events/batch'), ['/events/batch', {}]);
  assert.deepEqual(find('GET', '/events/42/proof'), ['/events/:eventId/proof', { eventId: '42' }]);
  assert.equal(find('PUT', '/events'), undefined);
  assert.equal(find('DELETE', '/events/batch'), undefined);
  assert.equal(find('get', '/events'), undefined);
});

test('HEAD leads where GET does, and nowhere else', () => {
  assert.deepEqual(find('HEAD', '/events/42/proof'), ['/events/:eventId/proof', { eventId: '42' }]);
  assert.deepEqual(find('HEAD', '/events'), find('GET', '/events'));
  const writing = createRouter([routeTo('POST', '/events')]);
  assert.equal(writing('HEAD', '/events'), undefined);
});

test('a path that is not in the table exactly is nowhere', () => {
  const paths = [
    '',
    '*',
    'events',
    '/',
    '//events',
    '/Events',
    '/events/batch/',
    '/events/42/',
    '/event',
    '/events#a',
  ];
  for (const path of paths) assert.equal(find('GET', path), undefined, path);
});

test('a name goes before a placeholder, unless it leads nowhere', () => {
  assert.deepEqual(find('GET', '/events/latest/raw'), ['/events/latest/raw', {}]);
  assert.deepEqual(find('GET', '/events/latest'), ['/events/:eventId', { eventId: 'latest' }]);
  assert.deepEqual(find('GET', '/events/latest/proof'), ['/events/:eventId/proof', { eventId: 'latest' }]);
  assert.deepEqual(find('GET', '/tile/entries/x001/067'), ['/tile/entries/*', { '*': 'x001/067' }]);
  assert.deepEqual(find('GET', '/tile/0/x001/067.p'), ['/tile/:level/*', { level: '0', '*': 'x001/067.p' }]);
});

test('segments are decoded once, after the path is split', () => {
  assert.deepEqual(find('GET', '/%65vents/a%2Fb'), ['/events/:eventId', { eventId: 'a/b' }]);
  assert.deepEqual(find('GET', '/events/%2541'), ['/events/:eventId', { eventId: '%41' }]);
  assert.deepEqual(find('GET', '/events/..'), ['/events/:eventId', { eventId: '..' }]);
  assert.equal(find('GET', '/events%2F42'), undefined);
});

test('a route that takes the rest of a path gets what was sent', () => {
  assert.deepEqual(find('GET', '/tile/%30/000'), ['/tile/:level/*', { level: '%30', '*': '000' }]);
  assert.deepEqual(find('GET', '/tile/%65ntries/000'), ['/tile/entries/*', { '*': '000' }]);
  const rests = ['%78001/067', 'x001%2F067', '000.p%2f12', '../000', './000', '000/', '/000', '', '%2541'];
  for (const rest of rests) {
    assert.deepEqual(find('GET', `/tile/0/${rest}`), ['/tile/:level/*', { level: '0', '*': rest }]);
    assert.deepEqual(find('GET', `/tile/entries/${rest}`), ['/tile/entries/*', { '*': rest }]);
  }
});

test('what cannot be decoded is nowhere', () => {
  for (const path of ['/events/%', '/events/%zz', '/events/%C3', '/%/42', '/tile/0/%zz']) {
    assert.equal(find('GET', path), undefined, path);
  }
});

test('a placeholder gives back any text that stands in its place', () => {
  fc.assert(
    fc.property(fc.string({ unit: 'grapheme', minLength: 1 }), (eventId) => {
      fc.pre(eventId.isWellFormed());
      const found = find('GET', `/events/${encodeURIComponent(eventId)}/proof`);
      assert.deepEqual(found, ['/events/:eventId/proof', { eventId }]);
    }),
  );
});
