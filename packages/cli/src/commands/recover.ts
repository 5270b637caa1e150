// tallystick recover: goes on after a restore, or after the anchor was lost, with the service stopped. With --new-epoch it
// shows what was signed, what is there and what is lost for good, asks, and begins a new log for each tenant that is affected,
// under a new name that says so. With --accept-lost-anchor logs go on under their name, and a notice in each says so.

import { toHex } from '@tallystick/evidence';
import type { Disagreement, NewEpoch, Recovery } from '@tallystick/server';
import { Command } from 'commander';
import { acceptLostAnchor, acceptQuestion, shownUnanchored } from '../accept-lost-anchor.ts';
import { tenantIn } from '../access-options.ts';
import { isAgreed, type YesOption } from '../ask-yes.ts';
import { CannotRun } from '../cannot-run.ts';
import { warn } from '../output/complain.ts';
import { counted } from '../output/counted.ts';
import { startProgress } from '../output/progress.ts';
import { type Config, type ConfigFileOption, dataCommand, type Server } from '../data-command.ts';
import { shellWord } from '../output/shell-word.ts';

interface RecoverOptions extends ConfigFileOption, YesOption {
  readonly newEpoch?: true;
  readonly acceptLostAnchor?: true;
  readonly tenant?: string;
}

export function recoverCommand(): Command {
  const command = new Command('recover')
    .summary('go on after the data was restored from a copy, or the anchor was lost')
    .description(
      'Compares every log with its anchor. Where the data was put back to an earlier state, what was signed since is ' +
        'gone, and the log cannot go on under its name: that would be a fork. With --new-epoch it goes on under a new ' +
        'name, and its first entry says what happened; without it, nothing is changed. The service must be stopped.\n' +
        'Where the data are not those that were signed, but others, no new name helps: such a log is refused.\n' +
        'Where the anchor is lost, a rollback cannot be ruled out. With --accept-lost-anchor every log ' +
        'that is affected goes on nevertheless, and says so by a notice.\n' +
        'Exit code 0: done, or nothing to do. 1: a tenant is affected and was not recovered, or it could not be done. ' +
        '2: the command line or the settings are wrong.',
    )
    .option('--new-epoch', 'go on under a new name; without it, only show who is affected')
    .option('--accept-lost-anchor', 'go on with logs that the anchor knows less of than was signed')
    .option('--tenant <tenant>', 'only this tenant (default: every one that is affected)')
    .option('--yes', 'do not ask');
  return dataCommand<RecoverOptions>(command, async (server, config, options) => {
    const wanted = wantedIn(options);
    await using recovery = await openShown(server, config);
    if (wanted !== undefined && !(await recovery.hasTenant(wanted))) {
      throw new CannotRun(`there is no tenant ${wanted}: nothing was looked at or changed`);
    }
    const outcome = await recover(recovery, wanted, options);
    if (outcome === 'NothingDone') throw new server.StartError('nothing was changed');
    if (outcome === 'SomeRefused') throw new server.StartError('not every log could go on');
  });
}

/** Its progress is gone from the terminal when all logs are compared. */
async function openShown(server: Server, config: Config): Promise<Recovery> {
  using progress = startProgress('reading the logs', 'entries');
  return await server.openRecovery(config, ({ entries, entriesTotal }) =>
    progress.show(entries, entriesTotal),
  );
}

/** Undefined: all of them. */
function wantedIn(options: RecoverOptions): string | undefined {
  const { tenant } = options;
  if (options.acceptLostAnchor && options.newEpoch)
    throw new CannotRun('give --new-epoch or --accept-lost-anchor, not both: one after the other');
  if (options.acceptLostAnchor && tenant !== undefined)
    throw new CannotRun('--accept-lost-anchor is for every log that is affected; it takes no --tenant');
  return tenant === undefined ? undefined : tenantIn(tenant);
}

/** `NothingDone` and `SomeRefused`: a log is damaged, or not what was signed, and somebody still has to see to it. */
type Outcome = 'Done' | 'NothingDone' | 'SomeRefused';

async function recover(
  recovery: Recovery,
  wanted: string | undefined,
  options: RecoverOptions,
): Promise<Outcome> {
  const found = lookAt(recovery, wanted);
  const { behind, unanchored, isAnyRefused } = found;
  if (behind.length + unanchored.length === 0) {
    if (isAnyRefused) return 'NothingDone';
    process.stdout.write(nothingToDo(recovery, wanted));
    return 'Done';
  }
  for (const disagreement of behind) process.stdout.write(shown(disagreement));
  for (const log of unanchored) process.stdout.write(shownUnanchored(log));
  const way = wayIn(options, found, recovery);
  if (way === undefined || way.logs === 0) {
    process.stdout.write(waysOpen(found, options));
    return 'NothingDone';
  }
  if (!(await isAgreed(way.question, options))) return 'NothingDone';
  const isWhole = (await way.go()) && way.logs === behind.length + unanchored.length;
  return isWhole && !isAnyRefused ? 'Done' : 'SomeRefused';
}

interface FoundLogs {
  /** The store has less of them than was signed. */
  readonly behind: readonly Disagreement[];
  /** The anchor knows less of them than was signed. */
  readonly unanchored: Recovery['unanchored'];
  /** There are some with which nothing can go on; they are on standard error. */
  readonly isAnyRefused: boolean;
}

function lookAt(recovery: Recovery, wanted: string | undefined): FoundLogs {
  const { disagreements, damaged, warnings } = recovery;
  for (const warning of warnings) warn(warning);
  for (const [tenant, why] of damaged) {
    warn(
      `the log of ${tenant} is damaged (${why}): a new epoch does not mend that; restore an undamaged copy`,
    );
  }
  const isWanted = ({ tenant }: { readonly tenant: string }) => wanted === undefined || tenant === wanted;
  const found = disagreements.filter(isWanted);
  const others = found.filter(({ kind }) => kind === 'OtherHistory');
  for (const { tenant, message } of others) {
    warn(`the log of ${tenant} holds another history: ${message}`);
  }
  return {
    behind: found.filter(({ kind }) => kind === 'Behind'),
    unanchored: recovery.unanchored.filter(isWanted),
    // What cannot be read is not what was signed, and needs somebody, too.
    isAnyRefused: others.length > 0 || [...damaged.keys()].some((tenant) => isWanted({ tenant })),
  };
}

/** How to go on, as it was asked for. */
interface Way {
  /** With how many. */
  readonly logs: number;
  readonly question: string;
  /** Whether all of them have gone on. */
  go(): Promise<boolean>;
}

/** Undefined: only to look. */
function wayIn(options: RecoverOptions, found: FoundLogs, recovery: Recovery): Way | undefined {
  const { behind, unanchored } = found;
  if (options.acceptLostAnchor) {
    const logs = unanchored.length;
    return { logs, question: acceptQuestion(logs), go: () => acceptLostAnchor(recovery) };
  }
  if (!options.newEpoch) return undefined;
  const logs = behind.length;
  const question = `\nGo on with ${logs === 1 ? 'a new log' : `${logs} new logs`}? What is lost stays lost.`;
  return { logs, question, go: () => beginAll(behind, recovery) };
}

/** Whole commands, since an option cannot be added to every one that was given. */
function waysOpen({ behind, unanchored }: FoundLogs, { config, tenant }: RecoverOptions): string {
  const command = `tallystick recover${config === undefined ? '' : ` --config ${shellWord(config)}`}`;
  const newEpoch = `${command} --new-epoch${tenant === undefined ? '' : ` --tenant ${tenant}`}`;
  const forBehind = behind.length === 0 ? '' : `To go on with new logs: ${newEpoch}\n`;
  const forUnanchored =
    unanchored.length === 0
      ? ''
      : `Put the anchor back, or name its place by Log__Anchor; if it is lost: ${command} --accept-lost-anchor\n`;
  return `\n${forBehind}${forUnanchored}`;
}

/** One that fails does not keep the others back; the first failure is thrown at the end. */
async function beginAll(affected: readonly Disagreement[], recovery: Recovery): Promise<true> {
  const failures: unknown[] = [];
  for (const disagreement of affected) {
    try {
      process.stdout.write(begun(disagreement, await recovery.begin(disagreement)));
    } catch (error) {
      failures.push(error);
    }
  }
  if (failures.length > 0) throw failures[0];
  process.stdout.write(ADVICE);
  return true;
}

function nothingToDo({ isAnchorNew }: Recovery, wanted: string | undefined): string {
  if (isAnchorNew) {
    return 'Nothing was ever anchored here, so there is nothing to compare with. Is this the right anchor (Log__Anchor)?\n';
  }
  const whose = wanted === undefined ? 'Every log is' : `The log of ${wanted} is`;
  return `${whose} what was signed: there is nothing to recover.\n`;
}

function shown({ tenant, anchored, entries, firstIndex }: Disagreement): string {
  const { origin, size, root } = anchored;
  return [
    '',
    `tenant ${tenant}`,
    `  signed   ${counted(size, 'entry', 'entries')} as ${origin}, root ${toHex(root)}`,
    `  here     ${counted(entries, 'entry', 'entries')} of them`,
    `  lost     ${lost(size, entries, firstIndex)}`,
    '',
  ].join('\n');
}

function lost(size: number, entries: number, firstIndex: number | undefined) {
  if (firstIndex === undefined)
    return `all ${counted(size, 'entry', 'entries')} of that log, unless a newer copy has them`;
  const [first, last] = [firstIndex + entries + 1, firstIndex + size];
  return `sequences ${first} to ${last}, unless a newer copy has them; the numbers will be given again`;
}

function begun({ tenant, anchored }: Disagreement, { origin, restoredSize, notice }: NewEpoch): string {
  return (
    `${tenant} goes on as ${origin}, from sequence ${notice.index + 1} on: its first entry says that ${anchored.origin} ` +
    `was signed with ${counted(anchored.size, 'entry', 'entries')}, of which ${restoredSize} ${restoredSize === 1 ? 'is' : 'are'} kept\n`
  );
}

const ADVICE = `
Tell auditors of these tenants:
  - The log under the old name has ended. A checkpoint of it that they hold stays true, and proofs under it stay valid.
  - What was signed and is lost here can still be in their copies, exports and bundles: those count.
  - The log goes on under the new name, with its own verifier key line at /api/v1/log/t/<tenant>/key. Its first entry
    names the last checkpoint of the old one, which is to be compared with the newest that they hold.
Then start the service.
`;
