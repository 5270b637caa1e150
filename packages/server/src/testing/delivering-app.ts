// A service that delivers webhooks to this machine, for all tests of one file.

import { after, before } from 'node:test';
import { WITH_PLATFORM_KEY } from './admin-caller.ts';
import { startTestApp, type TestApp } from './test-app.ts';

export const DELIVERING = {
  ...WITH_PLATFORM_KEY,
  Environment: 'Test',
  Webhooks__AllowPrivateTargets: 'true',
};
/** Half a minute takes 30 ms, and an hour 3.6 s. */
export const QUICK = { ...DELIVERING, Webhooks__TimeScale: '0.001' };

/** To be called outside of any test; the service is there from the first one to the last. */
export function startDelivering(settings: Readonly<Record<string, string>> = DELIVERING): TestApp {
  // Nothing of it can be known while a file is loaded: what waited there could not share a process with other files.
  const app = {} as TestApp;
  before(async () => void Object.assign(app, await startTestApp(settings)));
  after(() => app[Symbol.asyncDispose]?.());
  return app;
}
