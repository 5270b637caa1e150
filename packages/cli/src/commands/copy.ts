// tallystick copy: moves the log of a stopped service, with its proofs, from the data directory into a PostgreSQL
// database. Shows at the end what is the same on both sides.

import { toHex } from '@tallystick/evidence';
import type { CopiedStore, CopyProgress } from '@tallystick/server';
import { Command } from 'commander';
import { type ConfigFileOption, configFileOption } from '../config-file-option.ts';
import { countedEntries } from '../counted.ts';
import { reportedProgress, type ReportedProgress } from '../progress.ts';
import { type Config, runWithSettings, type Server } from '../run-with-settings.ts';
import { lines } from '../verify-report.ts';

interface Options extends ConfigFileOption {
  readonly from?: string;
  readonly to?: string;
}

/** What is shown of long lists. */
const ROWS_MAX = 50;

export function copyCommand(): Command {
  return new Command('copy')
    .summary('move the log from the data directory into a PostgreSQL database')
    .description(
      'Copies everything that a stopped service has logged, with proofs, keys and tenants, into an empty PostgreSQL ' +
        'database, verifies it before and compares every row after. Then the service goes on there, with Storage__Url and ' +
        'the same data directory, which keeps the signing keys, and with the same anchor; without Storage__Url it does not ' +
        'start any more. A copy that was cut short is not served: run it again, and it goes on.\n' +
        'Exit code 0: done. 1: it could not be done. 2: the command line or the settings are wrong.',
    )
    .option('--from <directory>', 'the data directory (default: that of Storage__DataDirectory)')
    .option(
      '--to <url>',
      'the database, as the service will use it (default: that of Storage__Url, where nobody sees a password)',
    )
    .addOption(configFileOption())
    .action(async (options: Options) => {
      process.exitCode = await runWithSettings(
        options,
        async (server, config) => {
          const copied = await copyShown(server, config);
          process.stdout.write(reportOf(copied, config.storage.dataDirectory));
        },
        givenBy(options),
      );
    });
}

function givenBy({ from, to }: Options): Record<string, string> {
  return {
    ...(from === undefined ? {} : { Storage__DataDirectory: from }),
    ...(to === undefined ? {} : { Storage__Url: to }),
  };
}

const PHASES: Readonly<Record<CopyProgress['phase'], readonly [what: string, unit: string]>> = {
  Verifying: ['verifying', 'entries'],
  Copying: ['copying', 'rows'],
  Comparing: ['comparing', 'rows'],
};

/** One line for each phase, in the place of the one before. */
class ShownProgress implements Disposable {
  #phase: CopyProgress['phase'] | undefined;
  #line: ReportedProgress | undefined;

  show({ phase, done, total }: CopyProgress): void {
    if (phase !== this.#phase) {
      this[Symbol.dispose]();
      this.#phase = phase;
      this.#line = reportedProgress(...PHASES[phase]);
    }
    this.#line?.show(done, total);
  }

  [Symbol.dispose](): void {
    this.#line?.[Symbol.dispose]();
  }
}

/** Its progress is gone from the terminal when it is done. */
async function copyShown(server: Server, config: Config): Promise<CopiedStore> {
  using shown = new ShownProgress();
  return await server.copyStore(config, (progress) => shown.show(progress));
}

function reportOf({ to, how, tenants, rows, logs }: CopiedStore, directory: string): string {
  if (how === 'Before') return `${to} has had all of ${directory} before: nothing was changed\n`;
  const entries = logs.reduce((sum, log) => sum + log.entries, 0);
  const shown: [string, string][] = [
    ['rows', `${rows} of ${tenants} ${tenants === 1 ? 'tenant' : 'tenants'}, each read back and the same`],
    ['entries', `${entries} of ${logs.length} logs: chain and root recomputed from the database`],
    ...logs.slice(0, ROWS_MAX).map(logRow),
  ];
  if (logs.length > ROWS_MAX) shown.push(['', `and ${logs.length - ROWS_MAX} more logs`]);
  shown.push(
    [
      'next',
      'start the service with Storage__Url, with this data directory, which has the keys, and with its anchor: Log__Anchor as before, or a directory with a copy of the file anchor',
    ],
    [
      'left',
      `journal.db and views.db are not used any more; moved.json keeps a service from starting on them`,
    ],
  );
  return lines(`copied  ${directory} to ${to}`, shown);
}

function logRow({ origin, entries, signedSize, root }: CopiedStore['logs'][number]): [string, string] {
  const signed =
    root === undefined ? 'nothing signed yet' : `root ${toHex(root)} at size ${signedSize}, on both sides`;
  return ['same', `${origin}: ${countedEntries(entries)}, ${signed}`];
}
