// tallystick export schedule: files of what came since the last time, sent again and again. Exit codes as for `export`.

import {
  type Schedule,
  type ScheduleChange,
  SchedulePeriod,
  type ScheduleRequest,
  ULID_PATTERN,
} from '@tallystick/contract';
import { Command } from 'commander';
import { addServiceOptions, serviceIn, type ServiceOptions } from '../address-options.ts';
import { CannotRun, EXIT } from '../cannot-run.ts';
import {
  addCriteriaOptions,
  criteriaIn,
  type CriteriaOptions,
  objectIn,
} from '../exports/criteria-options.ts';
import { type ServedSchedules, servedSchedules } from '../exports/served-schedules.ts';
import { failedAsking } from '../failed-asking.ts';
import { oneOf, wordsOf } from '../given-option.ts';
import { newChange } from '../new-change.ts';
import { type LineOutput, lineOutput } from '../output/line-output.ts';
import { printable } from '../output/printable.ts';
import { jsonLines, type JsonOption, titledLines, writeRows } from '../output/rows.ts';
import type { Columns } from '../output/table.ts';
import { readText } from '../read-text.ts';

interface CreateOptions extends ServiceOptions, JsonOption, CriteriaOptions {
  readonly name: string;
  readonly every: string;
  readonly destination: string;
  readonly fromSequence?: string;
}

interface ChangeOptions extends ServiceOptions, JsonOption {
  readonly name?: string;
  readonly every?: string;
  readonly destination?: string;
}

interface Asked {
  readonly schedules: ServedSchedules;
  readonly out: LineOutput;
}

export function exportScheduleCommand(): Command {
  return new Command('schedule')
    .summary('send what came since the last time, every hour, day or month')
    .description(
      'Makes, shows and changes schedules of exports: archives with proofs, numbered without a gap, each of which names the one before it. ' +
        'tallystick verify --chain finds one that is missing.',
    )
    .addCommand(createCommand())
    .addCommand(listCommand())
    .addCommand(
      oneCommand('status', 'show a schedule and its newest file', (id, _, { schedules }) =>
        schedules.get(id),
      ),
    )
    .addCommand(changeCommand())
    .addCommand(switchCommand('pause', 'pause a schedule: the next file has what came meanwhile', false))
    .addCommand(switchCommand('resume', 'let a schedule run again', true))
    .addCommand(deleteCommand());
}

const PERIODS = wordsOf(SchedulePeriod).join(', ');
const DESTINATION =
  'a file with the destination as JSON: {"type":"Sftp",…} or {"type":"ObjectStorage",…}, its secrets included';

function createCommand(): Command {
  const command = new Command('create')
    .summary('make a schedule')
    .description('Makes a schedule. Its first file has the log from the beginning, or from --from-sequence.');
  return addCriteriaOptions(addServiceOptions(command, 'whose events'))
    .requiredOption('--name <name>', 'what it is called')
    .requiredOption('--every <period>', `when a file is made, in UTC: ${PERIODS}`)
    .requiredOption('--destination <file>', DESTINATION)
    .option('--from-sequence <n>', 'where the first file begins (default: 1)')
    .option('--json', "print the service's answer, as JSON")
    .action((options: CreateOptions) =>
      run(options, async ({ schedules, out }) => {
        await show(await schedules.create(requestOf(options), await newChange()), options, out);
      }),
    );
}

function requestOf(options: CreateOptions): ScheduleRequest {
  const { name, every, destination, fromSequence } = options;
  if (fromSequence !== undefined && !/^[1-9]\d{0,15}$/.test(fromSequence))
    throw new CannotRun(`--from-sequence is ${fromSequence}; it is a number from 1`);
  return {
    name,
    every: periodIn(every),
    ...criteriaIn(options),
    destination: destinationIn(destination),
    ...(fromSequence !== undefined && { fromSequence: Number(fromSequence) }),
  };
}

function periodIn(text: string): SchedulePeriod {
  return oneOf(wordsOf(SchedulePeriod), text, 'period') as SchedulePeriod;
}

/** In a file, so that its secrets are in no command line. */
function destinationIn(file: string): ScheduleRequest['destination'] {
  return objectIn(readText(file), file) as ScheduleRequest['destination'];
}

const COLUMNS: Columns<Schedule> = {
  'SCHEDULE ID': ({ scheduleId }) => scheduleId,
  NAME: ({ name }) => name,
  EVERY: ({ every }) => every,
  ACTIVE: ({ active }) => (active ? 'yes' : 'paused'),
  'LAST FILE': ({ lastRun }) => lastRun && `${lastRun.number}, ${lastRun.status}`,
  'NEXT RUN': ({ nextRunAt }) => nextRunAt,
};

function listCommand(): Command {
  const command = new Command('list').summary('list schedules, newest first');
  return addServiceOptions(command, 'whose schedules')
    .option('--json', 'print a JSON list')
    .action((options: ServiceOptions & JsonOption) =>
      run(options, async ({ schedules, out }) => writeRows(await schedules.list(), COLUMNS, options, out)),
    );
}

function changeCommand(): Command {
  const ask = async (id: string, options: ChangeOptions, { schedules }: Asked) => {
    const { name, every, destination } = options;
    const changes: ScheduleChange = {
      ...(name !== undefined && { name }),
      ...(every !== undefined && { every: periodIn(every) }),
      ...(destination !== undefined && { destination: destinationIn(destination) }),
    };
    return schedules.replace(id, changes, await newChange());
  };
  return oneCommand('change', 'rename a schedule, or send its files elsewhere', ask)
    .option('--name <name>', 'what it is called from now on')
    .option('--every <period>', `when a file is made, in UTC: ${PERIODS}`)
    .option('--destination <file>', DESTINATION);
}

function switchCommand(name: string, summary: string, active: boolean): Command {
  return oneCommand(name, summary, async (id, _, { schedules }) =>
    schedules.replace(id, { active }, await newChange()),
  );
}

function deleteCommand(): Command {
  const command = new Command('delete')
    .summary('delete a schedule; the exports that it made stay')
    .argument('<id>', 'scheduleId');
  return addServiceOptions(command, 'whose schedule').action((id: string, options: ServiceOptions) =>
    run(options, async ({ schedules, out }) => {
      await schedules.remove(scheduleIdIn(id));
      await out.write([printable(`${id} is deleted`)]);
    }),
  );
}

/** About one schedule, named by its id; shows it as it is then. */
function oneCommand(
  name: string,
  summary: string,
  ask: (scheduleId: string, options: ChangeOptions, asked: Asked) => Promise<Schedule>,
): Command {
  const command = new Command(name).summary(summary).argument('<id>', 'scheduleId');
  return addServiceOptions(command, 'whose schedule')
    .option('--json', "print the service's answer, as JSON")
    .action((id: string, options: ChangeOptions) =>
      run(options, async (asked) => show(await ask(scheduleIdIn(id), options, asked), options, asked.out)),
    );
}

async function show(one: Schedule, { json }: JsonOption, out: LineOutput): Promise<void> {
  await out.write(json ? jsonLines(one) : titledLines(scheduleRows(one)));
}

function scheduleRows({ lastRun, destination, ...one }: Schedule): (readonly [string, string])[] {
  const { host, path, bucket, prefix } = destination;
  const place = destination.type === 'Sftp' ? `${host}:${path}` : `${bucket}/${prefix ?? ''}`;
  return [
    ['schedule id', one.scheduleId],
    ['name', one.name],
    ['every', one.active ? one.every : `${one.every}, paused`],
    ['format', one.format],
    ['sent to', `${destination.type} ${place}`],
    ['created', `${one.createdAt} by ${one.createdBy}`],
    ...(one.nextRunAt === undefined ? [] : [['next run', one.nextRunAt] as const]),
    ...(lastRun === undefined
      ? []
      : [['last file', `${lastRun.number}, export ${lastRun.exportId}, ${lastRun.status}`] as const]),
  ];
}

async function run(options: ServiceOptions, work: (asked: Asked) => Promise<unknown>): Promise<void> {
  try {
    await work({ schedules: servedSchedules(serviceIn(options)), out: lineOutput() });
    process.exitCode = EXIT.done;
  } catch (error) {
    process.exitCode = failedAsking(error);
  }
}

const ID = new RegExp(ULID_PATTERN);

function scheduleIdIn(text: string): string {
  if (ID.test(text.toUpperCase())) return text.toUpperCase();
  throw new CannotRun(`${JSON.stringify(text.slice(0, 80))} is no scheduleId, which has 26 characters`);
}
