// tallystick recover --new-epoch: goes on after a restore, with the service stopped. Shows what was signed, what is there
// and what is lost for good, asks, and begins a new log for each tenant that is affected, under a new name that says so.

import { createInterface } from 'node:readline/promises';
import { toHex } from '@tallystick/evidence';
import type { Disagreement, NewEpoch, Recovery } from '@tallystick/server';
import { Command } from 'commander';
import { tenantIn } from '../access-options.ts';
import { CannotRun } from '../cannot-run.ts';
import { warn } from '../complain.ts';
import { type ConfigFileOption, configFileOption } from '../config-file-option.ts';
import { countedEntries } from '../counted.ts';
import { reportedProgress } from '../progress.ts';
import { type Config, runWithSettings, type Server } from '../run-with-settings.ts';

interface RecoverOptions extends ConfigFileOption {
  readonly newEpoch?: true;
  readonly tenant?: string;
  readonly all?: true;
  readonly yes?: true;
}

export function recoverCommand(): Command {
  return new Command('recover')
    .summary('go on after the data was restored from a copy')
    .description(
      'Compares every log with its anchor. Where the data was put back to an earlier state, what was signed since is ' +
        'gone, and the log cannot go on under its name: that would be a fork. With --new-epoch it goes on under a new ' +
        'name, and its first entry says what happened; without it, nothing is changed. The service must be stopped.\n' +
        'Where the data are not those that were signed, but others, no new name helps: such a log is refused.\n' +
        'Exit code 0: done, or nothing to do. 1: a tenant is affected and was not recovered, or it could not be done.\n' +
        '2: the command line or the settings are wrong.',
    )
    .option('--new-epoch', 'go on under a new name; without it, only show who is affected')
    .option('--tenant <tenant>', 'only this tenant')
    .option('--all', 'every tenant that is affected; so it is without --tenant')
    .option('--yes', 'do not ask')
    .addOption(configFileOption())
    .action(async (options: RecoverOptions) => {
      process.exitCode = await runWithSettings(options, async (server, config) => {
        const wanted = wantedIn(options);
        await using recovery = await openShown(server, config);
        if (wanted !== undefined && !(await recovery.hasTenant(wanted))) {
          throw new CannotRun(`there is no tenant ${wanted}: nothing was looked at or changed`);
        }
        const outcome = await recover(recovery, wanted, options);
        if (outcome === 'NothingDone') throw new server.StartError('nothing was changed');
        if (outcome === 'SomeRefused') throw new server.StartError('not every log could go on');
      });
    });
}

/** Its progress is gone from the terminal when all logs are compared. */
async function openShown(server: Server, config: Config): Promise<Recovery> {
  using progress = reportedProgress('reading the logs', 'entries');
  return await server.openRecovery(config, ({ entries, entriesTotal }) =>
    progress.show(entries, entriesTotal),
  );
}

/** Undefined: all of them. */
function wantedIn({ tenant, all }: RecoverOptions): string | undefined {
  if (tenant !== undefined && all) throw new CannotRun('give --tenant or --all, not both');
  return tenant === undefined ? undefined : tenantIn(tenant);
}

/** `NothingDone` and `SomeRefused`: a log is damaged, or not what was signed, and somebody still has to see to it. */
type Outcome = 'Done' | 'NothingDone' | 'SomeRefused';

async function recover(
  recovery: Recovery,
  wanted: string | undefined,
  options: RecoverOptions,
): Promise<Outcome> {
  const { disagreements, damaged, warnings } = recovery;
  for (const warning of warnings) warn(warning);
  for (const [tenant, why] of damaged) {
    warn(
      `the log of ${tenant} is damaged (${why}): a new epoch does not mend that; restore an undamaged copy`,
    );
  }
  const isWanted = (tenant: string): boolean => wanted === undefined || tenant === wanted;
  const found = disagreements.filter(({ tenant }) => isWanted(tenant));
  const affected = found.filter(({ kind }) => kind === 'Behind');
  const others = found.filter(({ kind }) => kind === 'OtherHistory');
  for (const { tenant, message } of others) {
    warn(`the log of ${tenant} holds another history: ${message}`);
  }
  // What cannot be read is not what was signed, and needs somebody, too.
  const isAnyRefused = others.length > 0 || [...damaged.keys()].some(isWanted);
  if (affected.length === 0) {
    if (isAnyRefused) return 'NothingDone';
    process.stdout.write(nothingToDo(recovery, wanted));
    return 'Done';
  }
  for (const disagreement of affected) process.stdout.write(shown(disagreement));
  if (!options.newEpoch) {
    process.stdout.write('\nTo go on with new logs, add --new-epoch.\n');
    return 'NothingDone';
  }
  if (!(await isAgreed(affected.length, options))) return 'NothingDone';
  await beginAll(affected, recovery);
  process.stdout.write(ADVICE);
  return isAnyRefused ? 'SomeRefused' : 'Done';
}

/** One that fails does not keep the others back; the first failure is thrown at the end. */
async function beginAll(affected: readonly Disagreement[], recovery: Recovery): Promise<void> {
  const failures: unknown[] = [];
  for (const disagreement of affected) {
    try {
      process.stdout.write(begun(disagreement, await recovery.begin(disagreement)));
    } catch (error) {
      failures.push(error);
    }
  }
  if (failures.length > 0) throw failures[0];
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
    `  signed   ${countedEntries(size)} as ${origin}, root ${toHex(root)}`,
    `  here     ${countedEntries(entries)} of them`,
    `  lost     ${lost(size, entries, firstIndex)}`,
    '',
  ].join('\n');
}

function lost(size: number, entries: number, firstIndex: number | undefined) {
  if (firstIndex === undefined)
    return `all ${countedEntries(size)} of that log, unless a newer copy has them`;
  const [first, last] = [firstIndex + entries + 1, firstIndex + size];
  return `sequences ${first} to ${last}, unless a newer copy has them; the numbers will be given again`;
}

function begun({ tenant, anchored }: Disagreement, { origin, restoredSize, notice }: NewEpoch): string {
  return (
    `${tenant} goes on as ${origin}, from sequence ${notice.index + 1} on: its first entry says that ${anchored.origin} ` +
    `was signed with ${anchored.size} entries, of which ${restoredSize} are kept\n`
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

async function isAgreed(logs: number, { yes }: RecoverOptions): Promise<boolean> {
  if (yes) return true;
  if (!process.stdin.isTTY) {
    throw new CannotRun('there is no terminal to ask on: look at what is shown, then give --yes');
  }
  const question = `\nGo on with ${logs === 1 ? 'a new log' : `${logs} new logs`}? What is lost stays lost. Type yes: `;
  const asking = createInterface({ input: process.stdin, output: process.stdout });
  try {
    return (await asking.question(question)).trim() === 'yes';
  } finally {
    asking.close();
  }
}
