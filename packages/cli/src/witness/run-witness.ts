// Runs a witness in this process until it is told to stop; then it answers what is under way, for a few seconds.

import { EXIT } from '../cannot-run.ts';
import { type Heads, HeadsBroken } from './heads.ts';
import { type HttpWitness, serveWitness } from './http.ts';
import { type LogLine, logsOf } from './logs.ts';
import { openWitnessData, type WitnessData } from './witness-key.ts';

/** What a witness needs of the clock of the service. */
export interface WitnessClock {
  now(): number;
  after(delayMs: number, run: () => void): { cancel(): void };
}

export interface WitnessOptions {
  readonly directory: string;
  readonly name: string;
  readonly host: string;
  readonly port: number;
  readonly lines: readonly LogLine[];
  readonly clock: WitnessClock;
  /** In the place of those of the directory, for tests. */
  readonly headsOver?: (heads: Heads) => Heads;
}

const STOP_MS_MAX = 5000;

/** Resolves with the exit code. */
export async function runWitness(options: WitnessOptions): Promise<number> {
  // A reader of our output that goes away must not take the witness with it.
  for (const stream of [process.stdout, process.stderr]) stream.on('error', () => {});
  using data = await openWitnessData(options.directory, options.name);
  const { promise: ended, resolve: end } = Promise.withResolvers<number>();
  // Listened to until the end, because a terminal and npm may both pass on one Ctrl-C.
  for (const signal of ['SIGTERM', 'SIGINT'] as const) process.on(signal, () => end(EXIT.done));
  const onError = (error: unknown) => {
    tell({ message: 'a request failed', error: String(error) });
    if (error instanceof HeadsBroken) end(EXIT.failed);
  };
  const http = await serveWitness({ ...partsOf(options, data), onError });
  process.stdout.write(greeting(options, data, http));
  const exitCode = await ended;
  const limit = options.clock.after(STOP_MS_MAX, () => http.cutOff());
  await http.stop();
  limit.cancel();
  return exitCode;
}

function partsOf(options: WitnessOptions, { heads, cosigner }: WitnessData) {
  const { host, port, lines, clock, headsOver = (plain) => plain } = options;
  return {
    witness: {
      cosigner,
      logs: logsOf(lines),
      heads: headsOver(heads),
      nowMs: () => clock.now(),
      onContradiction: (found: object) => tell({ message: 'a log contradicts itself', ...found }),
      onNewName: (found: object) =>
        tell({ message: 'a log goes on under a new name, from where nobody has shown here', ...found }),
    },
    host,
    port,
  };
}

function greeting(
  { directory, lines }: WitnessOptions,
  { cosigner }: WitnessData,
  http: HttpWitness,
): string {
  const { names, prefixes } = logsOf(lines);
  const follows = [...names, ...prefixes.map((prefix) => `every log below ${prefix}`)];
  return [
    'Tallystick witness is ready.',
    `  address  ${http.address}`,
    `  key      ${cosigner.verifierKey}`,
    `  data     ${directory}`,
    `  logs     ${follows.join(', ') || 'none: every checkpoint is refused until it is told which logs to follow'}`,
    '',
  ].join('\n');
}

/** One JSON line for each, on standard error. */
function tell(what: object): void {
  process.stderr.write(`${JSON.stringify(what)}\n`);
}
