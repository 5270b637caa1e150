// tallystick doctor: examines what the service stands on, whether it runs or not, and says what to do.
// Exit codes: 0 sound; 1 something was found; 2 could not run (wrong settings, no data).

import { Command } from 'commander';
import { type ConfigFileOption, dataCommand, type Server } from '../data-command.ts';
import { paint } from '../output/paint.ts';
import { printable } from '../output/printable.ts';

interface Options extends ConfigFileOption {
  readonly json?: true;
}

type Diagnosis = Awaited<ReturnType<Server['examine']>>;

export function doctorCommand(): Command {
  const command = new Command('doctor')
    .summary('examine clock, disks, files, database and settings')
    .description(
      'Examines what the service stands on, with its settings, whether it runs or not: the clock, disk space, whether fsync is ' +
        'believable, the files of keys and the anchor, the database and its rights, the certificate, and the settings. Each ' +
        'finding says what to do.\n' +
        'Exit code 0: sound. 1: something was found. 2: could not run.',
    )
    .option('--json', 'print JSON');
  return dataCommand<Options>(command, async (server, config, options) => {
    const diagnosis = await server.examine(config, process.env);
    process.stdout.write(options.json ? `${JSON.stringify(diagnosis)}\n` : textOf(diagnosis));
    const count = diagnosis.examined.reduce((sum, { problems }) => sum + problems.length, 0);
    if (count > 0) throw new server.StartError(count === 1 ? '1 finding' : `${count} findings`);
  });
}

function textOf({ examined }: Diagnosis): string {
  const lines = examined.flatMap(({ part, problems, measured }) => {
    const verdict = problems.length === 0 ? paint('green', 'sound  ') : paint('red', 'finding');
    const head = `${verdict}  ${part}${measured === undefined ? '' : ` (${printable(measured)})`}`;
    return [
      head,
      ...problems.flatMap(({ what, remedy }) => [
        `           ${printable(what)}`,
        `           → ${printable(remedy)}`,
      ]),
    ];
  });
  return `${lines.join('\n')}\n`;
}
