import assert from 'node:assert/strict';
import { readdirSync } from 'node:fs';
import { test } from 'node:test';
import { OPERATIONS, PROTOCOLS } from '@tallystick/contract';
import { createHealth } from './admin/health.ts';
import { createLifecycle } from './admin/lifecycle.ts';
import { bindOperations } from './operations.ts';
import { systemClock } from './runtime/clock.ts';
import { startTestApp } from './testing/test-app.ts';

const health = createHealth(systemClock, createLifecycle());
const never = () => Promise.reject(new Error('never asked'));

test('these operations need nothing but the process, and no other is bound unasked', () => {
  assert.deepEqual(Object.keys(bindOperations({ health })).sort(), [
    'health.get',
    'health.live',
    'health.ready',
    'process.live',
    'process.ready',
    'process.startup',
  ]);
});

test('an operation that honours idempotency keys and cannot answer again stops the start', () => {
  assert.throws(
    () => bindOperations({ health, events: { 'events.ingest': never } }),
    /events\.ingest honours/,
  );
  assert.throws(
    () => bindOperations({ health, events: { 'events.ingest': { performUnvalidated: never } } }),
    /answer again/,
  );
  assert.ok(bindOperations({ health, events: { 'events.get': never } })['events.get']);
});

test('the service serves every operation of the contract', async () => {
  await using app = await startTestApp();
  const isServed = async ({ rest }: (typeof OPERATIONS)[number]): Promise<boolean> => {
    const path = `${rest.atRoot ? '' : '/api/v1'}${rest.path.replaceAll(/\{\w+\+?\}/g, 'x')}`;
    // Without a credential every path that exists is refused as such, before anything else is looked at.
    const response = await fetch(app.url + path, { method: rest.method });
    return !(await response.text()).includes('"ROUTE_NOT_FOUND"');
  };
  const unserved: string[] = [];
  for (const each of OPERATIONS) if (!(await isServed(each))) unserved.push(each.name);
  assert.deepEqual(unserved, []);
});

test('each protocol of the contract has a folder', () => {
  // HTTP and the input are what several of them stand on; the documents describe REST.
  const spoken = readdirSync(new URL('protocols/', import.meta.url)).filter(
    (folder) => !['http', 'input', 'protobuf', 'streaming', 'docs'].includes(folder),
  );
  assert.deepEqual(spoken.sort(), [...PROTOCOLS].sort());
});
