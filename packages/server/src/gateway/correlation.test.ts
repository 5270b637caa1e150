import assert from 'node:assert/strict';
import { test } from 'node:test';
import { AuditError, operationNamed } from '@tallystick/contract';
import { createSystemRandom } from '../runtime/random.ts';
import { RequestCorrelation } from './correlation.ts';

const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/;
const ids = { random: createSystemRandom(), nextId: () => '01KE0000000000000000000042' };
const read = (given?: string, traceparent?: string) => new RequestCorrelation(given, traceparent, ids);

test("the caller's correlation id is taken as it is", () => {
  for (const id of ['x', '!', '~', 'a'.repeat(128), 'order-42/step#3']) {
    const correlation = read(id);
    assert.deepEqual([correlation.correlationId, correlation.correlationIsGiven], [id, true]);
    correlation.check();
  }
});

test('without one a UUID is made', () => {
  const correlation = read();
  assert.match(correlation.correlationId, UUID);
  assert.equal(correlation.correlationIsGiven, false);
  correlation.check();
});

test('one that is not allowed is replaced in the answer and refused', () => {
  for (const id of ['', ' ', 'a b', 'a'.repeat(129), 'é', '\u007f', 'a, b', 'tab\there']) {
    const correlation = read(id);
    assert.match(correlation.correlationId, UUID);
    assert.throws(
      () => correlation.check(),
      (error) => error instanceof AuditError && error.code === 'INVALID_HEADER' && error.details.length === 1,
      JSON.stringify(id),
    );
  }
});

test('of one that was sent twice the message says that it is sent once', () => {
  assert.throws(() => read('a, b').check(), {
    message: 'X-Correlation-Id must be 1 to 128 visible ASCII characters, no blanks, and sent once.',
  });
});

const TRACE = '4bf92f3577b34da6a3ce929d0e0e4736';
const PARENT = '00f067aa0ba902b7';

test('a W3C trace context is honoured', () => {
  for (const traceparent of [
    `00-${TRACE}-${PARENT}-01`,
    `00-${TRACE}-${PARENT}-00`,
    `cc-${TRACE}-${PARENT}-01`,
    `01-${TRACE}-${PARENT}-01-what-the-future-will-be-like`,
  ]) {
    assert.equal(read(undefined, traceparent).traceId, TRACE, traceparent);
  }
});

test('a malformed trace context is ignored and a new trace begins', () => {
  for (const traceparent of [
    '',
    TRACE,
    `ff-${TRACE}-${PARENT}-01`,
    `00-${TRACE}-${PARENT}-01-more`,
    `00-${TRACE.toUpperCase()}-${PARENT}-01`,
    `00-${'0'.repeat(32)}-${PARENT}-01`,
    `00-${TRACE}-${'0'.repeat(16)}-01`,
    `00-${TRACE}-${PARENT}`,
    `00-${TRACE}-${PARENT}-1`,
    `00-${TRACE}-${PARENT}-01, 00-${TRACE}-${PARENT}-01`,
  ]) {
    const { traceId } = read(undefined, traceparent);
    assert.match(traceId, /^(?!0{32})[0-9a-f]{32}$/);
    assert.notEqual(traceId, TRACE, traceparent);
  }
});

test("a single event's own correlation id stands for the request, unless the header names one", () => {
  const uuid = '7D3F0C52-6a3e-4b51-9a0e-2f6b1f3c9d11';
  const idOf = (
    input: Record<string, unknown>,
    given?: string,
    operation: 'events.ingest' | 'events.search' = 'events.ingest',
  ) => {
    const correlation = read(given);
    correlation.adoptFrom(operationNamed(operation), input);
    return correlation.correlationId;
  };
  assert.equal(idOf({ event: { correlationId: uuid } }), uuid);
  assert.equal(idOf({ event: { correlationId: uuid } }, 'x'), 'x');
  for (const event of [
    undefined,
    null,
    5,
    {},
    { correlationId: null },
    { correlationId: 'x' },
    { correlationId: 5 },
  ]) {
    assert.match(idOf({ event }), UUID);
  }
  assert.notEqual(idOf({ event: { correlationId: uuid } }, undefined, 'events.search'), uuid);
});
