import assert from 'node:assert/strict';
import { test } from 'node:test';
import * as server from '@tallystick/server';
import { CannotRun } from '../cannot-run.ts';
import { serviceIn } from '../address-options.ts';
import { searchIn, type SearchOptions } from './search-options.ts';

const read = (query: string, options: Partial<SearchOptions> = {}) => {
  const all = { tenant: 'acme', url: 'http://127.0.0.1:8080', apiKey: 'key', ...options };
  return { ...searchIn(query, all, server), ...serviceIn(all) };
};

test('what contradicts itself, or is none, is refused in one line that names it', () => {
  for (const [options, says] of [
    [{ limit: '-1' }, /--limit is "-1"/],
    [{ limit: '5', all: true }, /--all and --limit/],
    [{ sort: 'size' }, /--sort is "size"/],
    [{ sort: 'action,' }, /--sort is "action,"/],
    [{ sort: 'action,action,action,action,action' }, /at most 4/],
    [{ sort: 'relevance', all: true }, /--sort relevance gives one page/],
    [{ sort: 'relevance', limit: '1001' }, /--sort relevance gives one page/],
    [{ from: 'yesterday' }, /--from is "yesterday"/],
    [{ to: '2026-02-30' }, /--to is "2026-02-30"/],
    [{ to: '2026-01-02T03:04:05' }, /with its zone/],
    [{ from: '2026-02-01', to: '2026-01-01' }, /--from 2026-02-01 is after/],
    [{ tenant: 'no tenant' }, /is no tenant/],
    [{ url: 'localhost:8080' }, /begins with https/],
    [{ url: 'http://' }, /is no address/],
    [{ url: 'http://u:p@127.0.0.1' }, /has no user/],
    [{ follow: true, limit: '5' }, /--limit is not for --follow/],
    [{ follow: true, sort: 'action' }, /--sort is not for --follow/],
  ] satisfies [Partial<SearchOptions>, RegExp][]) {
    const isLine = (error: unknown) =>
      error instanceof CannotRun && says.test(error.message) && !error.message.includes('\n');
    assert.throws(() => read('', options), isLine, JSON.stringify(options));
  }
  assert.throws(() => read('a'.repeat(4097)), /4097 characters; limit 4096/);
});

test('the service is named with or without a slash and the path of its interface', () => {
  for (const url of [
    'http://h/audit',
    'http://h/audit/',
    'http://h/audit/api/v1',
    'HTTP://H:80/audit/api/v1/',
  ]) {
    assert.equal(read('', { url }).address, 'http://h/audit');
  }
});

test('notices are looked at if the query names the field kind, anywhere in it', () => {
  for (const query of ['kind:Notice', 'a OR -(b kind:Event)', 'KIND:(Notice OR Event)', 'kind:*']) {
    assert.deepEqual(read(query).filters.kinds, ['Event', 'Notice'], query);
  }
  for (const query of ['', 'kind', '"kind:Notice"', 'payload.kind:Notice']) {
    assert.equal(read(query).filters.kinds, undefined, query);
  }
});

test('a day is all of it, and an instant is as it was given', () => {
  assert.deepEqual(read('', { from: '2026-01-02', to: '2026-01-02' }).filters.timeRange, {
    from: '2026-01-02T00:00:00Z',
    to: '2026-01-02T23:59:59.999999999Z',
  });
  assert.deepEqual(read('', { from: '2026-01-02T03:04:05+01:00' }).filters.timeRange, {
    from: '2026-01-02T03:04:05+01:00',
  });
});
