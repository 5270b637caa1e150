import assert from 'node:assert/strict';
import { registerHooks } from 'node:module';
import { test } from 'node:test';

test('a command with a small thing to do loads neither the service nor what signs tokens or speaks to databases', async () => {
  const loaded: string[] = [];
  const hooks = registerHooks({
    load(url, context, next) {
      loaded.push(url);
      return next(url, context);
    },
  });
  await import('./index.ts');
  hooks.deregister();
  assert.ok(
    loaded.some((url) => url.endsWith('/server/src/operate.ts')),
    'what is loaded is not seen',
  );
  const large = /\/server\/src\/(app|gateway|protocols)\/|\/node_modules\/(ajv|jose|pg)\//;
  assert.deepEqual(
    loaded.filter((url) => large.test(url)),
    [],
  );
});
