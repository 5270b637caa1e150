// Runs the service in this process, and is the only file of the server that touches `process`.
// Exit codes: 0 stopped as asked; 1 could not start, or failed; 2 wrong settings (one line each on standard
// error). By a signal it ends when a second one cuts the draining short, and by SIGKILL when it does not stop in time.

import { constants } from 'node:os';
import { resolve } from 'node:path';
import { VERSIONS } from '@tallystick/contract';
import type { App } from './app/app.ts';
import { readBuild } from './config/build.ts';
import { ConfigError } from './config/config-error.ts';
import { loadConfig, type LoadedConfig } from './config/config.ts';
import { type OtelSettings, readOtelSettings } from './config/otel-settings.ts';
import { requireServable } from './config/rules.ts';
import type { Config } from './config/settings.ts';
import { secretTexts } from './config/secret.ts';
import { instant, systemClock } from './runtime/clock.ts';
import { StartError, StoppedError } from './start-error.ts';
import { createTelemetry, type Telemetry } from './telemetry.ts';

export interface RunOptions {
  /** The settings file named on the command line. */
  readonly configFile?: string | undefined;
  /** Settings that the command line gives itself, in the place of those in the environment. */
  readonly given?: Readonly<Record<string, string>>;
  /** From the signal to the end of the process: within the 30 seconds that an orchestrator waits. */
  readonly stopMsMax?: number;
}

const STOP_MS_MAX = 29_000;

export const EXIT = { stopped: 0, failed: 1, wrongSettings: 2 } as const;

/** Serves until told to stop; resolves with the exit code. */
export async function runServer(options: RunOptions = {}): Promise<number> {
  let loaded: LoadedConfig;
  let otel: OtelSettings | undefined;
  try {
    loaded = loadSettings(options);
    otel = readOtelSettings(process.env);
    requireServable(loaded.config);
  } catch (error) {
    return explain(error);
  }
  // A reader of our output that goes away must not take the service with it.
  for (const stream of [process.stdout, process.stderr]) stream.on('error', () => {});
  const telemetry = telemetryFor(loaded);
  exitOnSurprises(telemetry);
  const stopSignal = listenForSignals();
  const stopping = new AbortController();
  void stopSignal.then(() => stopping.abort());
  using _ = limitStop(stopSignal, options.stopMsMax ?? STOP_MS_MAX, telemetry);
  try {
    // Only the service itself waits for all of it to be loaded: the other commands come by this file for the settings.
    const { createApp } = await import('./app/app.ts');
    await using app = await createApp(loaded.config, telemetry, { stopping: stopping.signal, otel });
    await serve(app, loaded.config, telemetry, stopSignal);
  } catch (error) {
    if (!(error instanceof StoppedError)) return explain(error, telemetry);
  }
  telemetry.info('stopped');
  return EXIT.stopped;
}

/** The settings of this process, for the commands that need them; throws ConfigError. */
export function loadSettings({ configFile, given = {} }: RunOptions): LoadedConfig {
  const variables = { ...process.env, ...given };
  return loadConfig({ variables, workingDirectory: process.cwd(), configFile });
}

async function serve(app: App, config: Config, telemetry: Telemetry, stop: Promise<string>) {
  const { version } = readBuild();
  const { address, firstKey } = await app.start();
  const data = resolve(config.storage.dataDirectory);
  const isKeyGiven = config.adminKey !== undefined;
  process.stdout.write(
    [
      `Tallystick ${version} is ready.`,
      `  address  ${address}`,
      `  data     ${data}`,
      ...databaseLines(config),
      ...keyLines(firstKey, isKeyGiven),
      ...sendLines(config, address, firstKey ?? (isKeyGiven ? '$TALLYSTICK_ADMIN_KEY' : '$TALLYSTICK_KEY')),
      '',
    ].join('\n'),
  );
  telemetry.info('ready', { address, version, environment: config.environment });
  const signal = await stop;
  telemetry.info('draining', { signal });
}

/** Without credentials: a supervisor may keep the output. */
function databaseLines({ storage }: LoadedConfig['config']): string[] {
  if (storage.url === undefined) return [];
  const { host, pathname } = new URL(storage.url.reveal());
  return [`  database postgres://${host}${pathname}`];
}

function keyLines(firstKey: string | undefined, isGiven: boolean): string[] {
  if (isGiven) return [];
  if (firstKey === undefined) {
    return [
      "  key      there are keys already; to make another: tallystick keys create --tenant '*' --role Admin",
    ];
  }
  return [
    `  key      ${firstKey}`,
    '           A platform Admin key: every tenant, every permission. It is shown this once; only its hash is kept.',
  ];
}

/** Ready to be pasted; none where no version takes events any more. */
function sendLines({ apiVersions }: LoadedConfig['config'], address: string, key: string): string[] {
  const version = VERSIONS.find((each) => ['Active', 'Deprecated'].includes(apiVersions[each].state));
  return version === undefined
    ? []
    : ['', 'Send an event:', `  ${curlLine(`${address}/api/${version}`, key)}`];
}

/** Double quotes around the key, so that a shell puts in the value of a variable. */
function curlLine(api: string, key: string): string {
  const event = {
    timestamp: instant(systemClock.now()),
    actor: { actorType: 'User', userId: 'ana' },
    action: 'Delete.Invoice',
    resource: { resourceType: 'Invoice', resourceId: 'INV-42' },
  };
  const headers = `-H "X-API-Key: ${key}" -H 'X-Tenant-Id: demo' -H 'Content-Type: application/json'`;
  return `curl ${api}/audit-events ${headers} -d '${JSON.stringify(event)}'`;
}

function telemetryFor({ config }: LoadedConfig): Telemetry {
  const isReadable = process.stderr.isTTY || config.environment === 'Development';
  return createTelemetry({
    clock: systemClock,
    level: config.telemetry.level,
    form: isReadable ? 'readable' : 'json',
    secrets: secretTexts(config),
    write: (line) => process.stderr.write(line),
  });
}

/** One line for each thing to mend; a stack only for what nobody foresaw. */
function explain(error: unknown, telemetry?: Telemetry): number {
  if (error instanceof ConfigError) {
    for (const problem of error.problems) process.stderr.write(`tallystick: ${problem}\n`);
    return EXIT.wrongSettings;
  }
  if (error instanceof StartError) process.stderr.write(`tallystick: ${error.message}\n`);
  else if (telemetry === undefined) process.stderr.write(`tallystick: ${String(error)}\n`);
  else telemetry.error('the service failed', error);
  return EXIT.failed;
}

/** A process in an unknown state must not go on writing a log that others rely on. */
function exitOnSurprises(telemetry: Telemetry): void {
  const exit = (what: string) => (error: unknown) => {
    telemetry.error(what, error);
    process.exit(EXIT.failed);
  };
  process.on('uncaughtException', exit('an exception was not caught'));
  process.on('unhandledRejection', exit('a rejection was not handled'));
}

/** A disk that hangs must not keep an orchestrator waiting: what was answered is stored, the rest gets no answer. */
function limitStop(stop: Promise<unknown>, stopMsMax: number, telemetry: Telemetry): DisposableStack {
  const limits = new DisposableStack();
  const limit = async () => {
    await stop;
    if (limits.disposed) return;
    const timer = systemClock.after(stopMsMax, () => {
      telemetry.error('the service did not stop in time', new Error(`over ${stopMsMax} ms`));
      endBy('SIGKILL');
      process.abort();
    });
    limits.defer(() => timer.cancel());
  };
  void limit();
  return limits;
}

/**
 * At once, where process.exit would wait for every thread, also for one that waits for its disk. Comes back in the first
 * process of a container alone, which is deaf to its own signals.
 */
function endBy(signal: NodeJS.Signals): void {
  process.removeAllListeners(signal);
  process.kill(process.pid, signal);
}

/** A terminal and npm may both pass on one Ctrl-C, so signals this close together count as one. */
const SAME_SIGNAL_MS = 500;

function listenForSignals(): Promise<NodeJS.Signals> {
  const { promise, resolve: stop } = Promise.withResolvers<NodeJS.Signals>();
  let firstNs: number | undefined;
  const onSignal = (signal: NodeJS.Signals) => {
    const nowNs = systemClock.monotonicNs();
    firstNs ??= nowNs;
    if (nowNs - firstNs > SAME_SIGNAL_MS * 1e6) {
      endBy(signal);
      process.exit(128 + constants.signals[signal]);
    }
    stop(signal);
  };
  process.on('SIGTERM', onSignal);
  process.on('SIGINT', onSignal);
  return promise;
}
