import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { VersionStates } from '../../gateway/versions.ts';
import { SUPPORTED_VERSIONS, versionHeaders } from './version-headers.ts';

const states = (state: VersionStates['v1']['state']): VersionStates => ({
  v1: { state, deprecationDate: '2027-01-01', sunsetDate: '2027-06-30' },
  v2: { state: 'Active', deprecationDate: undefined, sunsetDate: undefined },
});

test('a deprecated version says so, with its dates as they were set', () => {
  assert.deepEqual(versionHeaders('v1', states('Active')), {});
  assert.deepEqual(versionHeaders('v1', states('Deprecated')), {
    'X-API-Deprecated': 'true',
    'X-API-Deprecation-Date': '2027-01-01',
    'X-API-Sunset-Date': '2027-06-30',
    Deprecation: '@1798761600',
    Sunset: 'Wed, 30 Jun 2027 00:00:00 GMT',
  });
  const bare = { ...states('Active'), v2: { ...states('Active').v2, state: 'Sunset' as const } };
  assert.deepEqual(versionHeaders('v2', bare), { 'X-API-Deprecated': 'true' });
  assert.deepEqual(versionHeaders(undefined, states('Deprecated')), {});
});

test('the supported versions are listed as callers write them', () => {
  assert.equal(SUPPORTED_VERSIONS, '1.0, 2.0');
});
