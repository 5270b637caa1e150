// The service as it is, but for what is put in the place of a real part. Prints its address as the service does.

import { createApp } from '../../../packages/server/src/app/app.ts';
import type { Overrides } from '../../../packages/server/src/app/surroundings.ts';
import { loadSettings } from '../../../packages/server/src/main.ts';
import { systemClock } from '../../../packages/server/src/runtime/clock.ts';
import { createTelemetry } from '../../../packages/server/src/telemetry.ts';

export async function serveWith(overrides: Overrides): Promise<void> {
  const telemetry = createTelemetry({
    clock: systemClock,
    level: 'Error',
    form: 'json',
    secrets: [],
    write: (line) => process.stderr.write(line),
  });
  const app = await createApp(loadSettings({}).config, telemetry, overrides);
  const { address } = await app.start();
  process.stdout.write(`address  ${address}\n`);
}
