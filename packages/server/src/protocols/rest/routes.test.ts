import assert from 'node:assert/strict';
import { test } from 'node:test';
import { boundOperations } from '../../testing/bound-operations.ts';
import { routesFor } from './routes.ts';

const shown = (bound: Parameters<typeof routesFor>[0]) =>
  routesFor(bound).map(({ method, url, version }) => `${method} ${url} ${version ?? '-'}`);

const never = () => Promise.reject(new Error('never asked'));

test('a bound operation is served in each version and without one', () => {
  assert.deepEqual(shown({ 'policies.removeRule': never }), [
    'DELETE /api/v1/policies/:policyId/rules/:ruleId v1',
    'DELETE /api/v2/policies/:policyId/rules/:ruleId v2',
    'DELETE /api/policies/:policyId/rules/:ruleId -',
  ]);
});

test('what stands at the root is served there only', () => {
  assert.deepEqual(shown({ 'process.startup': never }), ['GET /health/startup -']);
});

test('only probes at the root ignore what stands in a query', () => {
  const probes = { 'process.live': never, 'process.ready': never, 'process.startup': never };
  const ignoring = routesFor(boundOperations({ ...probes, 'health.live': never, 'health.get': never }))
    .filter(({ ignoresQuery }) => ignoresQuery)
    .map(({ url }) => url);
  assert.deepEqual(ignoring.sort(), ['/health/live', '/health/ready', '/health/startup']);
});

test('what is not bound has no route', () => {
  assert.deepEqual(shown({}), []);
});

test('no two routes are the same', () => {
  const routes = routesFor(boundOperations()).map(({ method, url }) => `${method} ${url}`);
  assert.equal(new Set(routes).size, routes.length);
});
