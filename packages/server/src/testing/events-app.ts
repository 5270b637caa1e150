// A service for all tests of one file that are about events, and a caller of its tenant acme who may see everything.

import { after, before } from 'node:test';
import type { Overrides } from '../app/surroundings.ts';
import { believeClearance, eventCaller, type EventCaller } from './event-caller.ts';
import { startTestApp, type TestApp } from './test-app.ts';

export interface EventsApp {
  readonly app: TestApp;
  readonly acme: EventCaller;
}

/**
 * To be called outside of any test; the service is there from the first one to the last. `prepare` is done before the first
 * one: a hook of the file's own may run at the same time as this one, and then the service is not there yet.
 */
export function startEventsApp(
  overrides: Overrides = {},
  prepare: (started: EventsApp) => Promise<void> = async () => {},
  settings: Readonly<Record<string, string>> = {},
): EventsApp {
  // Nothing of it can be known while a file is loaded: what waited there could not share a process with other files.
  const app = {} as TestApp;
  const started = { app, acme: eventCaller(app) };
  before(async () => {
    Object.assign(app, await startTestApp(settings, { authenticate: believeClearance, ...overrides }));
    await prepare(started);
  });
  after(() => app[Symbol.asyncDispose]?.());
  return started;
}
