// tallystick bundle: makes a bundle of a tenant's log, or of a part of it, from the data directory or the database, also
// while the service runs, and says what to hand over. The bundle is verified as it is written: a file that is there verifies.

import { closeSync, fsyncSync, openSync, renameSync, rmSync, writeSync } from 'node:fs';
import { ULID_PATTERN } from '@tallystick/contract';
import { type BundleVerdict, BundleVerifier, EvidenceError, noteVerifier } from '@tallystick/evidence';
import type { BundleWish, OpenedBundle } from '@tallystick/server';
import { Command } from 'commander';
import { tenantIn } from '../access-options.ts';
import { CannotRun } from '../cannot-run.ts';
import { hostHashing } from '../verify/host-hashing.ts';
import { positiveSecondsIn } from '../output/length-of-time.ts';
import { requireNewFile } from '../new-file.ts';
import { startProgress } from '../output/progress.ts';
import { codeOf } from '../read-text.ts';
import { type Config, type ConfigFileOption, dataCommand, type Server } from '../data-command.ts';
import { shellWord } from '../output/shell-word.ts';

interface Options extends ConfigFileOption {
  readonly tenant: string;
  readonly stream?: string;
  readonly from?: string;
  readonly to?: string;
  readonly out?: string;
  readonly withholdContent?: true;
  readonly checkpointWait?: string | true;
}

const WAIT_DEFAULT = '30s';

export function bundleCommand(): Command {
  const command = new Command('bundle')
    .summary('make a bundle of a log that others can verify')
    .description(
      'Makes a bundle – events, proofs and a signed checkpoint in one file – from the data directory of the service, ' +
        'or with Storage__Url from its database, whether it runs or not, and prints what to hand over. Everything in it ' +
        'is open, unless --withhold-content.\n' +
        'Exit code 0: done. 1: it could not be done. 2: the command line or the settings are wrong.',
    )
    .requiredOption('--tenant <tenant>', 'whose log')
    .option('--stream <streamId>', 'only this stream')
    .option('--from <sequence>', 'only from this event on (default: the first of the log)')
    .option('--to <sequence>', 'only up to this event, with it (default: the newest under a checkpoint)')
    .option('--out <file>', 'where to (default: <tenant>-<from>-<to>.jsonl); never replaces a file')
    .option('--withhold-content', 'show context and payload of events by their root alone')
    .option('--checkpoint-wait [time]', `wait for a checkpoint over all of it (default: ${WAIT_DEFAULT})`);
  return dataCommand<Options>(command, async (server, config, options) => {
    const wish = wishOf(options);
    await using bundle = await openBundle(server, config, wish);
    const file = options.out ?? `${wish.tenant}-${bundle.from}-${bundle.to}.jsonl`;
    const verdict = await writeBundle(bundle, file, server);
    process.stdout.write(handOver(bundle, file, wish, verdict));
  });
}

/** A tenant that is not there was mistyped: for every command that is a fault of the command line. */
async function openBundle(server: Server, config: Config, wish: BundleWish): Promise<OpenedBundle> {
  try {
    return await server.openBundle(config, wish);
  } catch (error) {
    if (!(error instanceof server.StartError) || error.message !== `there is no tenant ${wish.tenant}`)
      throw error;
    throw new CannotRun(error.message);
  }
}

function wishOf(options: Options): BundleWish {
  const { tenant, stream, withholdContent = false, checkpointWait: wait } = options;
  const from = sequenceIn(options.from, '--from');
  const to = sequenceIn(options.to, '--to');
  if (stream !== undefined && (from ?? to) !== undefined)
    throw new CannotRun('--stream is given, and --from or --to; give one of them');
  if (from !== undefined && to !== undefined && from > to)
    throw new CannotRun(`--from is ${from}, behind --to, which is ${to}`);
  const seconds =
    wait === undefined ? 0 : positiveSecondsIn(wait === true ? WAIT_DEFAULT : wait, '--checkpoint-wait');
  const part =
    stream === undefined
      ? { ...(from === undefined ? {} : { from }), ...(to === undefined ? {} : { to }) }
      : { streamId: streamIn(stream) };
  return { tenant: tenantIn(tenant), part, withholdContent, waitMs: seconds * 1000 };
}

function sequenceIn(text: string | undefined, option: string): number | undefined {
  if (text === undefined) return undefined;
  if (/^[1-9]\d{0,14}$/.test(text)) return Number(text);
  throw new CannotRun(`${option} is ${JSON.stringify(text.slice(0, 80))}; it is a sequence, from 1 on`);
}

function streamIn(text: string): string {
  if (new RegExp(ULID_PATTERN).test(text)) return text;
  throw new CannotRun(`--stream is ${JSON.stringify(text.slice(0, 80))}; a stream id is 26 characters`);
}

/** The whole file or none: it is written beside its place and put there at the end. No verdict where there is no key. */
async function writeBundle(
  bundle: OpenedBundle,
  file: string,
  server: Server,
): Promise<BundleVerdict | undefined> {
  requireNewFile(file, 'name another by --out');
  const draft = `${file}.${process.pid}.part`;
  const verifiers = await Promise.all(bundle.verifierKeys.map(noteVerifier));
  const verifier = verifiers.length === 0 ? undefined : new BundleVerifier({ verifiers }, hostHashing());
  using progress = startProgress(`writing ${file}`, 'entries', { total: bundle.to - bundle.from + 1 });
  const descriptor = openForWriting(draft, file);
  let verdict: BundleVerdict | undefined;
  try {
    try {
      for await (const lines of bundle.lines()) {
        const chunk = Buffer.concat(lines);
        progress.add(lines.length);
        writeAll(descriptor, chunk);
        verifier?.push(chunk);
      }
      verdict = await verifier?.finish();
      fsyncSync(descriptor);
    } finally {
      closeSync(descriptor);
    }
    renameSync(draft, file);
    return verdict;
  } catch (error) {
    rmSync(draft, { force: true });
    throw failureOf(error, file, server);
  }
}

/** What is wrong with the data, or with the place to write to, is no fault of the command line. */
function failureOf(error: unknown, file: string, { StartError }: Server): unknown {
  if (error instanceof EvidenceError) {
    const message = `the data gives a bundle that does not verify (${error.reason}: ${error.message})`;
    return new StartError(`${message}; tallystick verify <data directory> says more`);
  }
  const isOfFile = error instanceof Error && 'syscall' in error;
  return isOfFile ? new StartError(`cannot write ${file}: ${codeOf(error)}`) : error;
}

function openForWriting(draft: string, file: string): number {
  try {
    // Its readers see what is in the log.
    return openSync(draft, 'wx', 0o600);
  } catch (error) {
    throw new CannotRun(`cannot write ${file}: ${codeOf(error)}`);
  }
}

function writeAll(descriptor: number, bytes: Uint8Array): void {
  for (let at = 0; at < bytes.length; ) at += writeSync(descriptor, bytes, at);
}

/** By the tenant's sequence, as the interface counts, and by the index in this log, as verifiers do. */
function rangeOf({ from, to, size }: OpenedBundle, verdict: BundleVerdict | undefined): string {
  const sequences = `sequence ${from} to ${to} of the tenant`;
  if (verdict === undefined) return `${sequences}, under the checkpoint of size ${size}`;
  return `${sequences}: index ${verdict.from} to ${verdict.to - 1} of a log of ${size}`;
}

function handOver(
  bundle: OpenedBundle,
  file: string,
  { part, withholdContent }: BundleWish,
  verdict: BundleVerdict | undefined,
): string {
  const { from, uncovered, verifierKeys } = bundle;
  const rows: [string, string][] = [
    ['log', bundle.origin],
    ['events', rangeOf(bundle, verdict)],
    ['shown', withholdContent ? 'all but context and payload' : 'everything'],
  ];
  if (Object.keys(part).length === 0 && from > 1)
    rows.push([
      'not in it',
      `sequence 1 to ${from - 1}, of logs before a restore (--from and --to reach them)`,
    ]);
  if (uncovered > 0)
    rows.push([
      'not in it',
      `the newest ${uncovered}, which no checkpoint covers yet (--checkpoint-wait waits)`,
    ]);
  for (const key of verifierKeys) rows.push(['key', key]);
  const keys = verifierKeys.length === 0 ? [`<the log's key>`] : verifierKeys.map((key) => `'${key}'`);
  rows.push([
    'verify',
    `tallystick verify ${shellWord(file)} ${keys.map((key) => `--key ${key}`).join(' ')}`,
  ]);
  const text = rows.map(([name, value]) => `  ${name.padEnd(10)} ${value}`);
  return `wrote  ${file}\n${text.join('\n')}\nHand over the file. Its verifier should have the key from elsewhere.\n`;
}
