import assert from 'node:assert/strict';
import { test } from 'node:test';
import { AuditError, type OperationName, operationNamed } from '@tallystick/contract';
import { checkRetired, checkSunset, servedVersion, type VersionStates } from './versions.ts';

const codeOf = (run: () => unknown): string => {
  try {
    run();
  } catch (error) {
    return error instanceof AuditError ? error.code : String(error);
  }
  return 'none';
};

const states = (state: VersionStates['v1']['state']): VersionStates => ({
  v1: { state, deprecationDate: '2027-01-01', sunsetDate: '2027-06-30' },
  v2: { state: 'Active', deprecationDate: undefined, sunsetDate: undefined },
});

const checkVersion = (name: OperationName, version: 'v1' | 'v2' | undefined, all: VersionStates): void => {
  checkRetired(version, all);
  checkSunset(operationNamed(name), version, all);
};

test('a version serves less from state to state', () => {
  const served = (name: OperationName) =>
    (['Active', 'Deprecated', 'Sunset', 'Retired'] as const).map((state) =>
      codeOf(() => checkVersion(name, 'v1', states(state))),
    );
  assert.deepEqual(served('events.ingest'), ['none', 'none', 'API_VERSION_SUNSET', 'API_VERSION_RETIRED']);
  for (const reading of ['events.get', 'events.search', 'policies.validate'] as const) {
    assert.deepEqual(served(reading), ['none', 'none', 'none', 'API_VERSION_RETIRED'], reading);
  }
  assert.equal(
    codeOf(() => checkVersion('events.ingest', 'v2', states('Retired'))),
    'none',
  );
});

test('what stands outside all versions is always served', () => {
  assert.equal(
    codeOf(() => checkVersion('process.live', undefined, states('Retired'))),
    'none',
  );
});

test('links name the newest version that answers', () => {
  const active = states('Active').v1;
  const retired = { ...active, state: 'Retired' } as const;
  assert.equal(servedVersion({ v1: active, v2: active }), 'v2');
  assert.equal(servedVersion({ v1: retired, v2: active }), 'v2');
  assert.equal(servedVersion({ v1: active, v2: retired }), 'v1');
});
