// A real server on a free port with a data directory of its own, for tests; gone when it is disposed.

import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createApp } from '../app/app.ts';
import type { Overrides } from '../app/surroundings.ts';
import { loadConfig } from '../config/config.ts';
import { systemClock } from '../runtime/clock.ts';
import { createTelemetry } from '../telemetry.ts';

export interface TestApp extends AsyncDisposable {
  readonly url: string;
  readonly port: number;
  /** 0: it is not served. */
  readonly grpcPort: number;
  readonly dataDirectory: string;
  /** If this start has made it. */
  readonly firstKey: string | undefined;
  /** Diagnostic lines so far. */
  readonly lines: Record<string, unknown>[];
}

export async function startTestApp(
  settings: Readonly<Record<string, string>> = {},
  overrides: Overrides = {},
): Promise<TestApp> {
  // Disposed here when the start fails, by the caller when it does not.
  await using building = new AsyncDisposableStack();
  const folder = mkdtempSync(join(tmpdir(), 'tallystick-app-'));
  building.defer(() => rmSync(folder, { recursive: true, force: true }));
  const dataDirectory = join(folder, 'data');
  const variables = {
    Server__Port: '0',
    Storage__DataDirectory: dataDirectory,
    Telemetry__Level: 'Debug',
    ...settings,
  };
  const { config } = loadConfig({ variables, workingDirectory: folder });
  const lines: Record<string, unknown>[] = [];
  const telemetry = createTelemetry({
    clock: systemClock,
    level: config.telemetry.level,
    form: 'json',
    secrets: [],
    write: (line) => void lines.push(JSON.parse(line) as Record<string, unknown>),
  });
  const drainTimes = { acceptGraceMs: 0, idleGraceMs: 20, timeoutMs: 2000 };
  const app = building.use(
    await createApp(config, telemetry, { drainTimes, hasThreads: false, ...overrides }),
  );
  const { address, grpcPort = 0, firstKey } = await app.start();
  const built = building.move();
  return {
    url: address,
    port: Number(new URL(address).port),
    grpcPort,
    dataDirectory: config.storage.dataDirectory,
    firstKey,
    lines,
    [Symbol.asyncDispose]: () => built.disposeAsync(),
  };
}
