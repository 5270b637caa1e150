// A tenant comes into being at its first write. One that changes something cannot be the first: a tenant whose name was mistyped
// has nothing, and is not made.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { namesWhatIsThere, OPERATIONS } from '@tallystick/contract';
import { PLATFORM_KEY, WITH_PLATFORM_KEY } from '../../packages/server/src/testing/admin-caller.ts';
import { startTestApp } from '../../packages/server/src/testing/test-app.ts';
import { sampleInput } from './sample-inputs.ts';
import { restSpeaker } from './speakers/rest.ts';

const CHANGING = OPERATIONS.filter(
  (each) => each.effect === 'Write' && each.tenant === 'Call' && namesWhatIsThere(each),
);

test('what a tenant that is not there is asked to change is not found, and no tenant is made', async () => {
  await using app = await startTestApp(WITH_PLATFORM_KEY);
  await using rest = restSpeaker(app);
  const by = { key: PLATFORM_KEY, tenant: 'mistyped', version: 'v2' } as const;
  assert.ok(CHANGING.length > 20);
  for (const operation of CHANGING) {
    const { error } = await rest.ask(operation.name, sampleInput(operation), {
      ...by,
      idempotencyKey: operation.name,
    });
    assert.match(error?.code ?? 'none', /^(?!TENANT_).*_NOT_FOUND$|^INVALID_/, operation.name);
  }
  const found = await rest.ask('tenants.get', { tenantId: 'mistyped' }, by);
  assert.equal(found.error?.code, 'TENANT_NOT_FOUND');
});
