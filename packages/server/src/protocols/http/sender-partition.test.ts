// Whom a request counts as.

import assert from 'node:assert/strict';
import type { IncomingMessage } from 'node:http';
import { test } from 'node:test';
import { createPartitionOf, type TrustedProxies } from './sender-partition.ts';

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
    assert.equal(createPartitionOf(trusted)(from(address, headers)), expected, JSON.stringify(headers));
});
