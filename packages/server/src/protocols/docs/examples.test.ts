// Every example of a request that the OpenAPI documents show is sent to a real service, and is not refused as malformed.

import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { asJson, EXAMPLES, OPERATIONS } from '@tallystick/contract';
import { PLATFORM_KEY, WITH_PLATFORM_KEY } from '../../testing/admin-caller.ts';
import { ask } from '../../testing/ask.ts';
import { startTestApp, type TestApp } from '../../testing/test-app.ts';

let app: TestApp;
before(async () => {
  app = await startTestApp({ ...WITH_PLATFORM_KEY, Environment: 'Test' });
});
after(() => app[Symbol.asyncDispose]());

/** What the answer is where it is not a success: the example is sound and names something that is not there. */
const NOT_THERE: Readonly<Record<string, string>> = {
  'subscriptions.replace': '404 SUBSCRIPTION_NOT_FOUND',
  'subscriptions.update': '404 SUBSCRIPTION_NOT_FOUND',
  'policies.replace': '404 POLICY_NOT_FOUND',
};

const withExamples = OPERATIONS.flatMap((each) => {
  const { body } = each.rest;
  const title = body === undefined ? undefined : asJson(each.input).properties?.[body]?.title;
  const example = title === undefined ? undefined : EXAMPLES[title];
  return example === undefined ? [] : [{ each, example }];
});

for (const { each, example } of withExamples) {
  test(`the example of ${each.name} is a request that the service takes`, async () => {
    const path = each.rest.path.replaceAll(/\{\w+\+?\}/g, '01KE0000000000000000000042');
    const { code } = await ask(app, each.rest.method, `/api/v1${path}`, {
      key: PLATFORM_KEY,
      tenant: 'acme',
      body: example,
    });
    const expected = NOT_THERE[each.name] ?? '2xx';
    assert.ok(expected === '2xx' ? code.startsWith('2') : code === expected, `${code}, not ${expected}`);
  });
}

test('most bodies have an example', () => {
  const withBody = OPERATIONS.filter(({ rest }) => rest.body !== undefined);
  assert.ok(withExamples.length >= withBody.length / 2, `${withExamples.length} of ${withBody.length}`);
});
