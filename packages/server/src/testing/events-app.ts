// A service for all tests of one file that are about events, and a caller of its tenant acme who may see everything.

import { after, before } from 'node:test';
import type { Overrides } from '../app/surroundings.ts';
import { believeClearance, eventCaller, type EventCaller } from './event-caller.ts';
import { startTestApp, type TestApp } from './test-app.ts';

export interface EventsApp {
  readonly app: TestApp;
  readonly acme: EventCaller;
}

/** To be called outside of any test; the service is there from the first one to the last. */
export function startEventsApp(overrides: Overrides = {}): EventsApp {
  // Nothing of it can be known while a file is loaded: what waited there could not share a process with other files.
  const app = {} as TestApp;
  before(async () => {
    Object.assign(app, await startTestApp({}, { authenticate: believeClearance, ...overrides }));
  });
  after(() => app[Symbol.asyncDispose]?.());
  return { app, acme: eventCaller(app) };
}
