import assert from 'node:assert/strict';
import { test } from 'node:test';
import * as fc from 'fast-check';
import { epochIn, logNamed, originOf } from './log-origin.ts';

const LOG_ORIGIN = 'audit.example.com';

test('the first log of a tenant has its plain name, later ones have their number behind it', () => {
  assert.equal(originOf({ tenant: 'acme', epoch: 0 }, LOG_ORIGIN), 'audit.example.com/t/acme');
  assert.equal(originOf({ tenant: 'acme', epoch: 12 }, LOG_ORIGIN), 'audit.example.com/t/acme/12');
});

test('every log is found again by its name', () => {
  const tenants = fc.stringMatching(/^[A-Za-z0-9._-]{1,64}$/);
  const epochs = fc.integer({ min: 0, max: 999_999_999 });
  const logOrigins = fc.constantFrom('a', LOG_ORIGIN, 'example.com/audit/t');
  fc.assert(
    fc.property(tenants, epochs, logOrigins, (tenant, epoch, logOrigin) => {
      const log = { tenant, epoch };
      assert.deepEqual(logNamed(originOf(log, logOrigin), logOrigin), log);
    }),
  );
});

test('a log has no second spelling, and no name outside of its installation', () => {
  const none = [
    '',
    'acme',
    'audit.example.com',
    'audit.example.com/t/',
    'audit.example.com/t//1',
    'audit.example.com/t/acme/',
    'audit.example.com/t/acme/0',
    'audit.example.com/t/acme/007',
    'audit.example.com/t/acme/-1',
    'audit.example.com/t/acme/1.0',
    'audit.example.com/t/acme/1/2',
    'audit.example.com/t/acme/1000000000',
    'other.example.com/t/acme',
    'x/audit.example.com/t/acme',
  ];
  for (const origin of none) {
    assert.equal(logNamed(origin, LOG_ORIGIN), undefined, origin);
  }
});

test('which logs are of one tenant is told by their names alone', () => {
  const first = 'audit.example.com/t/acme';
  assert.deepEqual(epochIn(first), { first, epoch: 0 });
  assert.deepEqual(epochIn(`${first}/12`), { first, epoch: 12 });
  for (const origin of [
    `${first}/0`,
    `${first}/012`,
    `${first}/x`,
    `${first}/12/x`,
    `${first}/1000000000`,
    `another\n${first}/12`,
    'audit.example.com/t//12',
    '/t/acme/12',
    'example.com/log',
    'example.com/7',
    'a/t/7',
  ]) {
    assert.deepEqual(epochIn(origin), { first: origin, epoch: 0 });
  }
});
