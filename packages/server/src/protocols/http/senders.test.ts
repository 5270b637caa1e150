// Whom a request counts as, and where it comes from.

import assert from 'node:assert/strict';
import type { IncomingMessage } from 'node:http';
import { test } from 'node:test';
import { createSenders, type TrustedProxies } from './senders.ts';

const from = (remoteAddress: string | undefined, headers: Record<string, string> = {}) =>
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- all that is read of a request
  ({ headers, socket: { remoteAddress } }) as unknown as IncomingMessage;

test('a trusted proxy may say whom a request counts as, and nobody else', () => {
  const table: [TrustedProxies | undefined, string | undefined, Record<string, string>, string][] = [
    [undefined, '127.0.0.1', {}, '127.0.0.1'],
    [undefined, '::ffff:127.0.0.1', { 'x-test-id': 't-1' }, 't-1'],
    [undefined, '::1', { 'x-forwarded-for': '203.0.113.7, 10.0.0.1' }, '203.0.113.7'],
    [undefined, '127.0.0.1', { 'x-test-id': 't-1', 'x-forwarded-for': '203.0.113.7' }, 't-1'],
    [undefined, '127.0.0.1', { 'x-test-id': ' ', 'x-forwarded-for': '203.0.113.7' }, '203.0.113.7'],
    [undefined, '127.0.0.1', { 'x-forwarded-for': ' , 10.0.0.1' }, '127.0.0.1'],
    [undefined, '203.0.113.9', { 'x-test-id': 't-1', 'x-forwarded-for': '203.0.113.7' }, '203.0.113.9'],
    [['10.0.0.0/8'], '10.1.2.3', { 'x-forwarded-for': '203.0.113.7' }, '203.0.113.7'],
    [['10.0.0.0/8'], '127.0.0.1', { 'x-forwarded-for': '203.0.113.7' }, '127.0.0.1'],
    [['2001:db8::/32'], '2001:db8::1', { 'x-forwarded-for': '203.0.113.7' }, '203.0.113.7'],
    [['10.0.0.7'], '::ffff:10.0.0.7', { 'x-test-id': 'x'.repeat(300) }, 'x'.repeat(200)],
    ['Everyone', '203.0.113.9', { 'x-test-id': 't-1' }, 't-1'],
    [undefined, undefined, {}, 'unknown'],
  ];
  for (const [trusted, address, headers, expected] of table)
    assert.equal(
      createSenders(trusted).partitionOf(from(address, headers)),
      expected,
      JSON.stringify(headers),
    );
});

test('a request comes from the address that the first trusted proxy has seen, whatever its sender claims', () => {
  const proxies = ['10.0.0.0/8'];
  const table: [TrustedProxies | undefined, string | undefined, string | undefined, string][] = [
    [proxies, '10.0.0.1', '203.0.113.7', '203.0.113.7'],
    [proxies, '10.0.0.1', '192.0.2.1, 203.0.113.7', '203.0.113.7'],
    [proxies, '10.0.0.1', '192.0.2.1, 203.0.113.7, 10.0.0.9', '203.0.113.7'],
    [proxies, '10.0.0.1', '::ffff:203.0.113.7', '203.0.113.7'],
    [proxies, '10.0.0.1', '10.0.0.5, 10.0.0.6', '10.0.0.5'],
    [proxies, '10.0.0.1', 'somebody', 'unknown'],
    [proxies, '10.0.0.1', undefined, '10.0.0.1'],
    [proxies, '203.0.113.9', '10.0.0.1', '203.0.113.9'],
    [undefined, '::ffff:127.0.0.1', undefined, '127.0.0.1'],
    [undefined, undefined, undefined, 'unknown'],
  ];
  for (const [trusted, address, forwarded, expected] of table) {
    const headers = forwarded === undefined ? {} : { 'x-forwarded-for': forwarded };
    assert.equal(createSenders(trusted).addressOf(from(address, headers)), expected, forwarded);
  }
});
