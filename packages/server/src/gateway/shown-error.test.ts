import assert from 'node:assert/strict';
import { test } from 'node:test';
import { AuditError } from '@tallystick/contract';
import { createFakeClock } from '../testing/fake-clock.ts';
import { createTelemetry } from '../telemetry.ts';
import { asAuditError, shownError } from './shown-error.ts';

const place = {
  correlation: {
    correlationId: 'c',
    correlationIsGiven: true,
    traceId: '4bf92f3577b34da6a3ce929d0e0e4736',
    requestId: '01KE0000000000000000000042',
  },
  path: '/api/v1/audit-events',
};

test('an error has exactly the fields of the specification, details always', () => {
  const shown = shownError(new AuditError('ROUTE_NOT_FOUND', 'There is no such path.'), place, 0);
  assert.deepEqual(shown, {
    code: 'ROUTE_NOT_FOUND',
    message: 'There is no such path.',
    details: [],
    traceId: '4bf92f3577b34da6a3ce929d0e0e4736',
    timestamp: '1970-01-01T00:00:00.000Z',
    path: '/api/v1/audit-events',
    requestId: '01KE0000000000000000000042',
  });
});

test('a value is cut at 200 characters and never inside one', () => {
  const shown = (value: unknown) => {
    const details = [{ field: 'f', issue: 'i', value }];
    return shownError(new AuditError('VALIDATION_FAILED', 'm', { details }), place, 0).details[0]?.value;
  };
  assert.equal(shown('a'.repeat(200)), 'a'.repeat(200));
  assert.equal(shown('a'.repeat(201)), 'a'.repeat(200));
  assert.equal(shown(`${'a'.repeat(199)}😀`), 'a'.repeat(199));
  assert.deepEqual(shown({ a: 1 }), { a: 1 });
  assert.equal(String(shown(Array.from({ length: 200 }, () => 1))).length, 200);
  assert.equal(shown(null), null);
});

test('what nobody foresaw is told to the operator and withheld from the caller', () => {
  const lines: string[] = [];
  const telemetry = createTelemetry({
    clock: createFakeClock(),
    level: 'Info',
    form: 'json',
    secrets: [],
    write: (line) => lines.push(line),
  });
  const cause = new Error('SELECT * FROM /var/lib/secrets failed');
  for (const error of [cause, new AuditError('INTERNAL_ERROR', cause.message, { cause }), 'just a text']) {
    const shown = asAuditError(error, place, telemetry);
    assert.equal(shown.code, 'INTERNAL_ERROR');
    assert.doesNotMatch(JSON.stringify(shownError(shown, place, 0)), /SELECT|secrets|text/);
  }
  assert.equal(lines.length, 3);
  for (const line of lines)
    assert.ok(line.includes(place.correlation.traceId) && /SELECT|just a text/.test(line), line);
  const foreseen = new AuditError('RATE_LIMITED', 'slow down');
  assert.equal(asAuditError(foreseen, place, telemetry), foreseen);
  assert.equal(lines.length, 3);
});

test('a field is cut like a value: what was sent must not come back many times over', () => {
  const details = [{ field: `payload["${'k'.repeat(1_000_000)}"]`, issue: 'is not a known field' }];
  const shown = shownError(new AuditError('VALIDATION_FAILED', 'm', { details }), place, 0);
  assert.equal(shown.details[0]?.field.length, 200);
});

test('a path of over 2,000 characters is cut, which shows', () => {
  const shown = (path: string) =>
    shownError(new AuditError('ROUTE_NOT_FOUND', 'm'), { ...place, path }, 0).path;
  const longest = `/${'a'.repeat(1999)}`;
  assert.equal(shown(longest), longest);
  assert.equal(shown(`${longest}a`), `${longest.slice(0, -1)}…`);
});

test('no answer outgrows its request: of many details the first thousand are listed', () => {
  const details = Array.from({ length: 2000 }, (_, i) => ({ field: `scopes[${i}]`, issue: 'is none' }));
  const shown = shownError(new AuditError('VALIDATION_FAILED', 'm', { details }), place, 0);
  assert.equal(shown.details.length, 1000);
  assert.equal(shown.details[0]?.field, 'scopes[0]');
});
