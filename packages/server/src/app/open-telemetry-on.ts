// Traces, where an operator wants them. Only then is anything of OpenTelemetry loaded.

import { readBuild } from '../config/build.ts';
import type { Config } from '../config/settings.ts';
import type { OtelSettings } from '../config/otel-settings.ts';
import type { OpenTelemetry } from '../outbound/otel/open-telemetry.ts';
import type { Clock } from '../runtime/clock.ts';
import { StartError } from '../start-error.ts';
import type { Telemetry } from '../telemetry.ts';
import { nodeName } from './node-name.ts';

export async function openTelemetryOn(
  settings: OtelSettings | undefined,
  config: Config,
  clock: Clock,
  telemetry: Telemetry,
): Promise<OpenTelemetry | undefined> {
  if (settings === undefined) return undefined;
  const service = { version: readBuild().version, node: nodeName(config) };
  try {
    const { startOpenTelemetry } = await import('../outbound/otel/open-telemetry.ts');
    return await startOpenTelemetry({ ...settings, service, clock, telemetry });
  } catch (error) {
    const missing = /Cannot find package '(@opentelemetry\/[\w-]+)'/.exec(String(error))?.[1];
    if (missing === undefined) throw error;
    throw new StartError(
      `OTEL_ variables ask for OpenTelemetry, and the package ${missing} is not installed beside the service; ` +
        'install it, or set OTEL_SDK_DISABLED=true',
    );
  }
}
