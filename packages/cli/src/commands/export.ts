// tallystick export: files of a tenant's events from a running service. Exit codes: 0 done; 1 it failed, or could not be had; 2 the command
// line is wrong.

import { writeFileSync } from 'node:fs';
import {
  type Export,
  ExportCompression,
  type ExportRequest,
  JobStatus,
  ULID_PATTERN,
} from '@tallystick/contract';
import { Command } from 'commander';
import { addServiceOptions, type ServiceAccess, serviceIn, type ServiceOptions } from '../address-options.ts';
import { CannotRun, EXIT } from '../cannot-run.ts';
import { addCriteriaOptions, criteriaIn, type CriteriaOptions } from '../exports/criteria-options.ts';
import { downloadFile } from '../exports/download-file.ts';
import { EXPORT_COLUMNS, exportRows } from '../exports/export-tables.ts';
import { type ServedExports, servedExports } from '../exports/served-exports.ts';
import { exportScheduleCommand } from './export-schedule.ts';
import { failedAsking } from '../failed-asking.ts';
import { NoAnswer } from '../fetch-bytes.ts';
import { oneOf, wordsIn, wordsOf } from '../given-option.ts';
import { newChange } from '../new-change.ts';
import { requireNewFile } from '../new-file.ts';
import { type LineOutput, lineOutput } from '../output/line-output.ts';
import { printable } from '../output/printable.ts';
import { startProgress } from '../output/progress.ts';
import { jsonLines, type JsonOption, titledLines, writeRows } from '../output/rows.ts';

interface CreateOptions extends ServiceOptions, JsonOption, CriteriaOptions {
  readonly compression: string;
  readonly name?: string;
  readonly proofs?: true;
  readonly out?: string;
}

interface ListOptions extends ServiceOptions, JsonOption {
  readonly status?: string;
}

interface DownloadOptions extends ServiceOptions {
  readonly out?: string;
}

interface Asked {
  readonly exports: ServedExports;
  readonly service: ServiceAccess;
  readonly out: LineOutput;
}

const POLLED_MS = 500;

export function exportCommand(): Command {
  return new Command('export')
    .summary('export events of a running service to a file')
    .description(
      'Requests exports of a tenant, follows them, and downloads their files: what a search finds, or the whole log.\n' +
        'Exit code 0: done. 1: it failed, or could not be had. 2: the command line is wrong.',
    )
    .addCommand(createCommand())
    .addCommand(listCommand())
    .addCommand(statusCommand())
    .addCommand(downloadCommand())
    .addCommand(retryCommand())
    .addCommand(deleteCommand())
    .addCommand(exportScheduleCommand())
    .addCommand(pageCommand());
}

function createCommand(): Command {
  const command = new Command('create')
    .summary('request an export, and perhaps download it')
    .description(
      'Requests an export of what the tenant has now, as you may see it. With --out it waits for the file and downloads it.',
    );
  return addCriteriaOptions(addServiceOptions(command, 'whose events'))
    .option('--compression <how>', `of the file: ${wordsOf(ExportCompression).join(', ')}`, 'None')
    .option('--name <name>', 'what it is called')
    .option('--proofs', 'put proofs beside the events; needs --compression Zip')
    .option('--out <file>', 'wait, and download it here; never replaces a file')
    .option('--json', "print the service's answer, as JSON")
    .action((options: CreateOptions) =>
      run(options, async ({ exports, service, out }) => {
        if (options.out !== undefined) requireNewFile(options.out, 'name another by --out');
        const { exportId } = await exports.create(requestOf(options), await newChange());
        const made =
          options.out === undefined ? await exports.get(exportId) : await completed(exportId, exports);
        if (options.out !== undefined && made.status === 'Completed')
          await downloadFile(service, made, options.out);
        await out.write(options.json ? jsonLines(made) : titledLines(exportRows(made)));
        return made.status === 'Failed' ? EXIT.failed : EXIT.done;
      }),
    );
}

function listCommand(): Command {
  const command = new Command('list')
    .summary('list exports, newest first')
    .description('Lists the exports of a tenant.');
  return addServiceOptions(command, 'whose exports')
    .option('--status <statuses>', `only these: ${wordsOf(JobStatus).join(', ')}; several with commas`)
    .option('--json', 'print a JSON list')
    .action((options: ListOptions) =>
      run(options, async ({ exports, out }) => {
        const status = wordsIn(options.status, JobStatus, 'status of exports');
        await writeRows(await exports.list(status), EXPORT_COLUMNS, options, out);
        return EXIT.done;
      }),
    );
}

function statusCommand(): Command {
  return oneCommand('status', 'show how an export stands', async (exportId, options, { exports, out }) => {
    const one = await exports.get(exportId);
    await out.write(options.json ? jsonLines(one) : titledLines(exportRows(one)));
    return one.status === 'Failed' ? EXIT.failed : EXIT.done;
  }).option('--json', "print the service's answer, as JSON");
}

function downloadCommand(): Command {
  const ask = async (exportId: string, { out: file }: DownloadOptions, asked: Asked) => {
    const { exports, service, out } = asked;
    if (file !== undefined) requireNewFile(file, 'name another by --out');
    const made = await completed(exportId, exports);
    const path = file ?? fileNameOf(made);
    await downloadFile(service, made, path);
    await out.write([printable(`wrote ${path}: ${made.fileSize} bytes, ${made.checksum}`)]);
    return EXIT.done;
  };
  return oneCommand('download', 'wait for an export, and download its file', ask).option(
    '--out <file>',
    'where to (default: audit-<exportId> with the ending of its format); a broken download goes on there',
  );
}

function retryCommand(): Command {
  return oneCommand('retry', 'run a failed export again', async (exportId, _, { exports, out }) => {
    const { status } = await exports.retry(exportId, await newChange());
    await out.write([printable(`${exportId} is ${status}`)]);
    return EXIT.done;
  });
}

function deleteCommand(): Command {
  return oneCommand(
    'delete',
    'cancel an export, or delete it with its file',
    async (exportId, _, { exports, out }) => {
      await exports.remove(exportId);
      await out.write([printable(`${exportId} is deleted`)]);
      return EXIT.done;
    },
  );
}

function pageCommand(): Command {
  return new Command('page')
    .summary('write the page that verifies exports')
    .description(
      'Writes the HTML page that verifies exports in a browser, without a network: the one that is in every export with proofs.',
    )
    .argument('<file>', 'a new file, such as verify.html; never replaces one')
    .action(async (file: string) => {
      try {
        requireNewFile(file, 'name another');
        const { linkPage } = await import('@tallystick/server');
        writeFileSync(file, await linkPage(), { flag: 'wx' });
      } catch (error) {
        process.exitCode = failedAsking(error);
      }
    });
}

/** About one export, named by its id. */
function oneCommand(
  name: string,
  summary: string,
  ask: (exportId: string, options: DownloadOptions & JsonOption, asked: Asked) => Promise<number>,
): Command {
  const command = new Command(name).summary(summary).argument('<id>', 'exportId');
  return addServiceOptions(command, 'whose export').action(
    (id: string, options: DownloadOptions & JsonOption) =>
      run(options, (asked) => ask(exportIdIn(id), options, asked)),
  );
}

async function run(options: ServiceOptions, work: (asked: Asked) => Promise<number>): Promise<void> {
  try {
    const service = serviceIn(options);
    process.exitCode = await work({ exports: servedExports(service), service, out: lineOutput() });
  } catch (error) {
    process.exitCode = failedAsking(error);
  }
}

const ID = new RegExp(ULID_PATTERN);

function exportIdIn(text: string): string {
  if (ID.test(text.toUpperCase())) return text.toUpperCase();
  throw new CannotRun(`${JSON.stringify(text.slice(0, 80))} is no exportId, which has 26 characters`);
}

function requestOf({ compression, name, proofs, ...options }: CreateOptions): ExportRequest {
  return {
    ...(name !== undefined && { name }),
    ...criteriaIn(options),
    compression: oneOf(wordsOf(ExportCompression), compression, 'compression') as ExportCompression,
    ...(proofs && { includeProofs: proofs }),
  };
}

/** Or failed. */
async function completed(exportId: string, exports: ServedExports): Promise<Export> {
  // Loaded only where something is waited for: it takes a while.
  const { systemClock, wait } = await import('@tallystick/server');
  using progress = startProgress(`exporting ${exportId}`, 'events');
  for (;;) {
    const seen = await exports.get(exportId);
    const { processedEvents, totalEvents, percent } = seen.progress;
    progress.show(processedEvents, totalEvents, percent / 100);
    if (seen.status === 'Completed') return seen;
    if (seen.status === 'Failed')
      throw new NoAnswer(`the export failed: ${seen.failureReason}. ${seen.errorDetails ?? ''}`);
    await wait(systemClock, POLLED_MS);
  }
}

function fileNameOf({ exportId, format, compression }: Export): string {
  const extension = format.toLowerCase();
  const ending = { None: extension, Gzip: `${extension}.gz`, Zip: 'zip' }[compression];
  return `audit-${exportId}.${ending}`;
}
