// A service for all tests of one file that are about events, and a caller of its tenant acme who may see everything.

import { after } from 'node:test';
import type { Overrides } from '../app/surroundings.ts';
import { believeClearance, eventCaller, type EventCaller } from './event-caller.ts';
import { startTestApp, type TestApp } from './test-app.ts';

export interface EventsApp {
  readonly app: TestApp;
  readonly acme: EventCaller;
}

/** To be called outside of any test; the service is gone after the last one. */
export async function startEventsApp(overrides: Overrides = {}): Promise<EventsApp> {
  const app = await startTestApp({}, { authenticate: believeClearance, ...overrides });
  after(() => app[Symbol.asyncDispose]());
  return { app, acme: eventCaller(app) };
}
