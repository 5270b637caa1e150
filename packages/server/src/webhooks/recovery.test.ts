import assert from 'node:assert/strict';
import { test } from 'node:test';
import { recoveryWork, type RecoveryParts } from './recovery.ts';

test('the recoveries of one tenant leave a place for those of others, however many it asks for', () => {
  const work = recoveryWork({} as RecoveryParts);
  assert.ok(work.limits!().perTenant! < work.atOnce);
});
