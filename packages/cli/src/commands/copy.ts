// tallystick copy: moves the log of a stopped service, with its proofs, from the data directory into a PostgreSQL
// database. Shows at the end what is the same on both sides.

import { toHex } from '@tallystick/evidence';
import type { CopiedStore, CopyProgress } from '@tallystick/server';
import { Command } from 'commander';
import { counted } from '../output/counted.ts';
import { type Progress, startProgress } from '../output/progress.ts';
import { type Config, type ConfigFileOption, dataCommand, type Server, type Work } from '../data-command.ts';
import { lines } from '../verify/verify-report.ts';

interface Options extends ConfigFileOption {
  readonly from?: string;
  readonly to?: string;
}

/** What is shown of long lists. */
const ROWS_MAX = 50;

export function copyCommand(): Command {
  const command = new Command('copy')
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
    );
  const work: Work<Options> = async (server, config) => {
    const copied = await copyShown(server, config);
    process.stdout.write(reportOf(copied, config.storage.dataDirectory));
  };
  return dataCommand(command, work, givenBy);
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

/** One line for each phase, in the place of the one before; none when it is done. */
async function copyShown(server: Server, config: Config): Promise<CopiedStore> {
  let shown: { readonly phase: CopyProgress['phase']; readonly line: Progress } | undefined;
  try {
    return await server.copyStore(config, ({ phase, done, total }) => {
      if (shown?.phase !== phase) {
        shown?.line[Symbol.dispose]();
        shown = { phase, line: startProgress(...PHASES[phase]) };
      }
      shown.line.show(done, total);
    });
  } finally {
    shown?.line[Symbol.dispose]();
  }
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
  return ['same', `${origin}: ${counted(entries, 'entry', 'entries')}, ${signed}`];
}
