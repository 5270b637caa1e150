// tallystick holds: the legal holds of a running service. Exit codes: 0 done; 1 failed, or nothing was released; 2 the command line
// is wrong.

import { type HoldRequest, HoldStatus, type LegalHold, ULID_PATTERN } from '@tallystick/contract';
import { EvidenceError, parseJson } from '@tallystick/evidence';
import { Command } from 'commander';
import { addServiceOptions, serviceIn, type ServiceOptions } from '../address-options.ts';
import { isAgreed, type YesOption } from '../ask-yes.ts';
import { CannotRun, EXIT } from '../cannot-run.ts';
import { failedAsking } from '../failed-asking.ts';
import { NoAnswer } from '../fetch-bytes.ts';
import { wordsIn, wordsOf } from '../given-option.ts';
import { HOLD_COLUMNS, holdRows } from '../holds/hold-tables.ts';
import { type ServedHolds, servedHolds } from '../holds/served-holds.ts';
import { newChange } from '../new-change.ts';
import { complain } from '../output/complain.ts';
import { padTo } from '../output/fit-text.ts';
import { type LineOutput, lineOutput } from '../output/line-output.ts';
import { printable } from '../output/printable.ts';
import { jsonLines, type JsonOption, writeRows } from '../output/rows.ts';

interface ListOptions extends ServiceOptions, JsonOption {
  readonly status?: string;
}

interface PlaceOptions extends ServiceOptions, JsonOption {
  readonly reason: string;
  readonly conditions?: string;
  readonly from?: string;
  readonly to?: string;
}

interface ReleaseOptions extends ServiceOptions, JsonOption, YesOption {
  readonly reason: string;
}

export function holdsCommand(): Command {
  return new Command('holds')
    .summary('place and release legal holds of a running service')
    .description(
      'Reads, places and releases legal holds of a tenant: while a hold is active, nothing that it covers is removed.\n' +
        'Exit code 0: done. 1: failed, or nothing was released. 2: the command line is wrong.',
    )
    .addCommand(listCommand())
    .addCommand(placeCommand())
    .addCommand(showCommand())
    .addCommand(releaseCommand());
}

function listCommand(): Command {
  const command = new Command('list')
    .summary('list legal holds, newest first')
    .description('Lists the legal holds of a tenant, with the number of events that each keeps.');
  return addServiceOptions(command, 'whose holds')
    .option('--status <statuses>', `only these: ${wordsOf(HoldStatus).join(', ')}; several with commas`)
    .option('--json', 'print a JSON list')
    .action((options: ListOptions) =>
      run(options, async (service, out) => {
        const status = wordsIn(options.status, HoldStatus, 'status of holds');
        await writeRows(await service.list(status), HOLD_COLUMNS, options, out);
        return EXIT.done;
      }),
    );
}

function placeCommand(): Command {
  const command = new Command('place')
    .summary('place a legal hold')
    .description(
      'Places a legal hold on the events that match, stored and to come; on all of them, if neither conditions nor a range are ' +
        'given. It counts from the answer on.',
    )
    .argument('<name>', 'no other active hold of the tenant has it');
  return addServiceOptions(command, 'whose events')
    .requiredOption('--reason <text>', 'why; it is kept with the hold')
    .option('--conditions <json>', 'which events, as in a rule: {"resource.resourceId":"INV-42"}')
    .option('--from <sequence>', 'with --to: the first event of a range')
    .option('--to <sequence>', 'with --from: the last event of a range')
    .option('--json', "print the service's answer, as JSON")
    .action((name: string, options: PlaceOptions) =>
      run(options, async (service, out) => {
        const hold = await service.place(requestOf(name, options), await newChange());
        await writeHold(hold, options, out);
        return EXIT.done;
      }),
    );
}

function showCommand(): Command {
  const command = new Command('show')
    .summary('print a legal hold')
    .description('Prints a legal hold with what it keeps, and how it ended.')
    .argument('<hold>', 'its holdId, or the name of an active one');
  return addServiceOptions(command, 'whose hold')
    .option('--json', "print the service's answer, as JSON")
    .action((wanted: string, options: ServiceOptions & JsonOption) =>
      run(options, async (service, out) => {
        await writeHold(await holdNamed(wanted, service), options, out);
        return EXIT.done;
      }),
    );
}

function releaseCommand(): Command {
  const command = new Command('release')
    .summary('release a legal hold')
    .description(
      'Releases a legal hold for good. What no other hold covers may be removed from then on, as its retention says.',
    )
    .argument('<hold>', 'its holdId, or the name of an active one');
  return addServiceOptions(command, 'whose hold')
    .requiredOption('--reason <text>', 'why; it is kept with the hold')
    .option('--yes', 'do not ask; needed where there is no terminal')
    .option('--json', "print the service's answer, as JSON")
    .action((wanted: string, options: ReleaseOptions) =>
      run(options, async (service, out) => {
        const hold = await holdNamed(wanted, service);
        if (hold.status === 'Active') {
          if (!options.yes) await writeHold(hold, {}, out);
          if (!(await isAgreed('Release it?', options))) {
            complain('nothing was released');
            return EXIT.failed;
          }
        }
        await writeHold(await service.release(hold.holdId, options.reason, await newChange()), options, out);
        return EXIT.done;
      }),
    );
}

async function run(
  options: ServiceOptions,
  work: (service: ServedHolds, out: LineOutput) => Promise<number>,
): Promise<void> {
  try {
    process.exitCode = await work(servedHolds(serviceIn(options)), lineOutput());
  } catch (error) {
    process.exitCode = failedAsking(error);
  }
}

function requestOf(name: string, { reason, conditions, from, to }: PlaceOptions): HoldRequest {
  if ((from === undefined) !== (to === undefined))
    throw new CannotRun('--from and --to belong together: a range has two ends');
  return {
    name,
    reason,
    ...(conditions !== undefined && { conditions: conditionsIn(conditions) }),
    ...(from !== undefined &&
      to !== undefined && {
        range: { fromSequence: sequenceIn(from, '--from'), toSequence: sequenceIn(to, '--to') },
      }),
  };
}

/** The service says what is wrong with them. */
function conditionsIn(text: string): NonNullable<HoldRequest['conditions']> {
  try {
    const read = parseJson(text);
    if (typeof read === 'object' && read !== null && !Array.isArray(read))
      return read as NonNullable<HoldRequest['conditions']>;
  } catch (error) {
    if (!(error instanceof EvidenceError)) throw error;
    throw new CannotRun(`--conditions is not JSON: ${error.message}`);
  }
  throw new CannotRun('--conditions is a JSON object: {"resource.resourceId":"INV-42"}');
}

function sequenceIn(text: string, option: string): number {
  if (/^[1-9]\d{0,14}$/.test(text)) return Number(text);
  throw new CannotRun(`${option} is ${JSON.stringify(text.slice(0, 80))}; it is a whole number of 1 or more`);
}

const HOLD_ID = new RegExp(ULID_PATTERN);

async function holdNamed(wanted: string, service: ServedHolds): Promise<LegalHold> {
  const id = wanted.toUpperCase();
  if (HOLD_ID.test(id)) return service.get(id);
  const found = (await service.list('Active')).find(({ name }) => name === wanted);
  if (found !== undefined) return found;
  throw new NoAnswer(
    `there is no active hold ${JSON.stringify(wanted.slice(0, 200))}; tallystick holds list shows all, and a released one goes by its id`,
  );
}

async function writeHold(hold: LegalHold, { json }: JsonOption, out: LineOutput): Promise<void> {
  const rows = holdRows(hold);
  const width = Math.max(...rows.map(([title]) => title.length));
  const lines = () => rows.map(([title, value]) => `${padTo(title, width)}  ${printable(value)}`);
  await out.write(json ? jsonLines(hold) : lines());
}
