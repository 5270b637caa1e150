// tallystick witness: runs a witness, which follows logs of others and cosigns what extends what it cosigned before.

import { mkdirSync, statSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { Command } from 'commander';
import { CannotRun, EXIT } from '../cannot-run.ts';
import { complain } from '../output/complain.ts';
import { collect } from '../given-option.ts';
import { codeOf, textIfAny } from '../read-text.ts';
import { belowLine, type LogLine, logLine, parseLogLines } from '../witness/logs.ts';

interface Options {
  readonly data: string;
  readonly name: string;
  readonly host: string;
  readonly port: string;
  readonly log?: readonly string[];
  readonly logsBelow?: readonly string[];
}

const LOGS_FILE = 'logs';

export function witnessCommand(): Command {
  return new Command('witness')
    .summary('run a witness for the logs of others')
    .description(
      'Runs a witness until it receives SIGTERM or SIGINT: it cosigns the checkpoints of the logs that it follows, ' +
        'each only if it extends the one that it cosigned before. Its key is made at the first start, and printed.\n' +
        'Which logs it follows is said here or in the file "logs" of the data directory, line by line:\n' +
        '"log <verifier key>" or "below <prefix> <verifier key>".\n' +
        'Exit code 0: stopped as asked. 1: could not start, or failed. 2: the command line or a file is wrong.',
    )
    .requiredOption('--data <directory>', 'where its key and what it has cosigned are kept')
    .requiredOption('--name <name>', 'the name of its key, such as witness.example.com/w1; for good')
    .option('--host <host>', 'the address to listen on', '127.0.0.1')
    .option('--port <port>', 'the port to listen on; 0 takes any free one', '8090')
    .option('--log <vkey>', 'follow this log; repeat for several', collect)
    .option(
      '--logs-below <prefix-and-vkey...>',
      'follow every log below a prefix, all signed by one key: the prefix, then the verifier key of one of them',
    )
    .action(async (options: Options) => {
      process.exitCode = await run(options);
    });
}

async function run(options: Options): Promise<number> {
  try {
    const directory = resolve(options.data);
    makeDirectory(directory);
    const lines = [...linesInFile(join(directory, LOGS_FILE)), ...linesInOptions(options)];
    const { host, name } = options;
    const port = portIn(options.port);
    // Loaded here, so that other commands do not wait for the whole service.
    const { systemClock: clock } = await import('@tallystick/server');
    const { runWitness } = await import('../witness/run-witness.ts');
    return await runWitness({ directory, name, host, port, lines, clock });
  } catch (error) {
    complain(error instanceof Error ? error.message : String(error));
    return error instanceof CannotRun ? EXIT.wrongUsage : EXIT.failed;
  }
}

/** One level only: a witness in a folder that was mistyped would be a new one. */
function makeDirectory(directory: string): void {
  try {
    mkdirSync(directory, { mode: 0o700 });
  } catch (error) {
    const code = codeOf(error);
    if (code === 'EEXIST' && statSync(directory, { throwIfNoEntry: false })?.isDirectory() !== true)
      throw new CannotRun(`--data is ${directory}, which is no directory`);
    if (code !== 'EEXIST') throw new CannotRun(`cannot make the data directory ${directory} (${code})`);
  }
}

function linesInFile(path: string): LogLine[] {
  return parseLogLines(textIfAny(path) ?? '', path);
}

function linesInOptions({ log = [], logsBelow = [] }: Options): LogLine[] {
  if (logsBelow.length % 2 !== 0) {
    throw new CannotRun('--logs-below takes two values: a prefix and the verifier key of a log below it');
  }
  const below = Array.from({ length: logsBelow.length / 2 }, (_, i) =>
    belowLine(logsBelow[2 * i]!, logsBelow[2 * i + 1]!, '--logs-below'),
  );
  return [...log.map((key) => logLine(key, '--log')), ...below];
}

function portIn(text: string): number {
  const port = Number(text);
  if (/^\d{1,5}$/.test(text) && port <= 65_535) return port;
  throw new CannotRun(`--port is ${JSON.stringify(text)}; it is 0 to 65535`);
}
