// The composition root: everything is built here, by hand, and handed what it needs. The only file that names
// concrete adapters. `start` listens first, so that probes are answered while the rest comes up; disposal takes
// down in the reverse order of building.

import { createHealth } from './admin/health.ts';
import { createLifecycle } from './admin/lifecycle.ts';
import type { Config } from './config/settings.ts';
import { readTlsFiles } from './config/tls-files.ts';
import type { Authenticate } from './gateway/authenticate.ts';
import type { Gateway } from './gateway/pipeline.ts';
import { createValidate } from './gateway/validate.ts';
import { bindOperations, type Operations } from './operations.ts';
import { drain, type DrainTimes } from './protocols/rest/drain.ts';
import { listen } from './protocols/rest/listen.ts';
import { createRestServer } from './protocols/rest/server.ts';
import { type Clock, systemClock } from './runtime/clock.ts';
import { createUlids } from './runtime/ids.ts';
import { createSystemRandom, type Random } from './runtime/random.ts';
import { dataDirectoryCheck, openDataDirectory } from './storage/data-directory.ts';
import type { Telemetry } from './telemetry.ts';

export interface App extends AsyncDisposable {
  /** Resolves with the address once the service is ready; throws StartError. */
  start(): Promise<{ address: string }>;
}

/** What a test may put in place of the real thing. */
export interface Overrides {
  readonly clock?: Clock;
  readonly random?: Random;
  readonly authenticate?: Authenticate;
  /** Take the place of bound operations, or are added to them. */
  readonly operations?: Operations;
  readonly drainTimes?: DrainTimes;
}

/** All of it stays within the 30 seconds that an orchestrator waits; the rest is for closing what is open. */
const DRAIN_TIMES: DrainTimes = { idleGraceMs: 1000, timeoutMs: 25_000 };

export async function createApp(
  config: Config,
  telemetry: Telemetry,
  overrides: Overrides = {},
): Promise<App> {
  const { clock = systemClock, random = createSystemRandom() } = overrides;
  const nextId = createUlids(clock, random);
  const lifecycle = createLifecycle();
  const health = createHealth(clock, lifecycle);
  health.add(dataDirectoryCheck(config.storage.dataDirectory));

  const gateway: Gateway = {
    clock,
    lifecycle,
    versionStates: config.apiVersions,
    authenticate: overrides.authenticate,
    validate: createValidate(),
    operations: { ...bindOperations({ health }), ...overrides.operations },
  };
  const tls = readTlsFiles(config);
  const isTls = tls !== undefined || config.server.publicUrl?.startsWith('https:') === true;
  const server = await createRestServer({ gateway, ids: { random, nextId }, telemetry, tls, isTls });

  const built = new AsyncDisposableStack();
  built.defer(async () => {
    lifecycle.moveTo('Draining');
    const connections = await drain(server, overrides.drainTimes ?? DRAIN_TIMES, clock);
    if (connections > 0) telemetry.warn('requests took too long and were cut off', { connections });
  });
  return {
    async start() {
      const address = await listen(server, config.server);
      await openDataDirectory(config.storage.dataDirectory);
      lifecycle.moveTo('Serving');
      return { address };
    },
    [Symbol.asyncDispose]: () => built.disposeAsync(),
  };
}
