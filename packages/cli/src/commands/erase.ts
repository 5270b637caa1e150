// tallystick erase: erases what a running service stores about a person, and waits until it is done. Exit codes: 0 done, or
// left to a second caller or to the service; 1 failed, or nothing was done; 2 the command line is wrong.

import type { AwaitingConfirmation, Erasure, ErasureRequest } from '@tallystick/contract';
import { Command } from 'commander';
import { addServiceOptions, serviceIn, type ServiceOptions } from '../address-options.ts';
import { isAgreed, type YesOption } from '../ask-yes.ts';
import { CannotRun, EXIT } from '../cannot-run.ts';
import { failedAsking } from '../failed-asking.ts';
import { collect } from '../given-option.ts';
import { complain } from '../output/complain.ts';
import { lineOutput } from '../output/line-output.ts';
import { startProgress } from '../output/progress.ts';
import type { JsonOption } from '../output/rows.ts';
import { newChange } from '../new-change.ts';
import { type ServedRedaction, servedRedaction } from '../redaction/served-redaction.ts';
import { writeAnswer } from './redact.ts';

interface EraseOptions extends ServiceOptions, JsonOption, YesOption {
  readonly userId?: string;
  readonly userName?: string;
  readonly resourceType?: string;
  readonly resourceId?: string;
  readonly field: readonly string[];
  readonly reason: string;
  readonly wait: boolean;
}

const LOOK_AGAIN_MS = 500;
/** Without counts nobody is told that only what holds keep is left, which may take years: a minute. */
const UNCOUNTED_LOOKS_MAX = 120;

export function eraseCommand(): Command {
  const command = new Command('erase')
    .summary('erase what is stored about a person')
    .description(
      'Erases fields of all events of a person from a running service for good, and waits until it is done. The events stay, ' +
        'and so does every proof; each has a notice in the log. What a legal hold keeps is erased when the hold ends.\n' +
        'Exit code 0: done, or left to another caller or to the service. 1: failed, or nothing was erased. 2: the command ' +
        'line is wrong.',
    );
  return addServiceOptions(command, 'whose events')
    .option('--user-id <id>', 'events of which this is the actor')
    .option('--user-name <name>', 'events of which this is the actor')
    .option('--resource-type <type>', 'with --resource-id: events about this resource')
    .option('--resource-id <id>', 'with --resource-type: events about this resource')
    .option(
      '--field <path>',
      'only these; repeat for several (default: the identity of the actor, context and payload)',
      collect,
      [],
    )
    .requiredOption('--reason <text>', 'why; it is in the diagnostics of the service, and not in the log')
    .option('--no-wait', 'end as soon as the request is in the log')
    .option('--yes', 'do not ask; needed where there is no terminal')
    .option('--json', "print the service's answer, as JSON")
    .action((options: EraseOptions) => erase(options));
}

export function confirmCommand(): Command {
  const command = new Command('confirm')
    .summary('confirm what another caller wants to remove')
    .description(
      'Where a tenant wants four eyes, a redaction or an erasure waits until a caller other than the one who asked for it ' +
        'confirms it.\n' +
        'Exit code 0: done. 1: failed. 2: the command line is wrong.',
    )
    .argument('<operation>', 'its operationId');
  return addServiceOptions(command, 'whose operation')
    .option('--json', "print the service's answer, as JSON")
    .action(async (operationId: string, options: ServiceOptions & JsonOption) => {
      try {
        const service = servedRedaction(serviceIn(options));
        await writeAnswer(await service.confirm(operationId, await newChange()), options, lineOutput());
        process.exitCode = EXIT.done;
      } catch (error) {
        process.exitCode = failedAsking(error);
      }
    });
}

async function erase(options: EraseOptions): Promise<void> {
  try {
    const request = requestOf(options);
    const service = servedRedaction(serviceIn(options));
    if (!(await isAgreed('Erase all that is stored about this person for good?', options))) {
      complain('nothing was erased');
      process.exitCode = EXIT.failed;
      return;
    }
    const asked = await service.erase(request, await newChange());
    const answer = options.wait && 'erasureId' in asked ? await ended(asked, service) : asked;
    await writeAnswer(answer, options, lineOutput());
    process.exitCode = answer.status === 'Failed' ? EXIT.failed : EXIT.done;
  } catch (error) {
    process.exitCode = failedAsking(error);
  }
}

/** As soon as nothing is left but what holds keep. */
async function ended(asked: Erasure, service: ServedRedaction): Promise<Erasure | AwaitingConfirmation> {
  const { systemClock, wait } = await import('@tallystick/server');
  using progress = startProgress('erasing', 'events');
  for (let looks = 1; ; looks++) {
    const erasure = await service.erasure(asked.erasureId);
    const { status, matchedEvents, erasedEvents, heldEvents } = erasure;
    if (status === 'Completed' || status === 'Failed' || heldEvents !== undefined) return erasure;
    if (erasedEvents === undefined && looks === UNCOUNTED_LOOKS_MAX) return erasure;
    progress.show(erasedEvents ?? 0, matchedEvents);
    await wait(systemClock, LOOK_AGAIN_MS);
  }
}

function requestOf(options: EraseOptions): ErasureRequest {
  const { userId, userName, resourceType, resourceId, field: fields, reason } = options;
  if ((resourceType === undefined) !== (resourceId === undefined))
    throw new CannotRun('--resource-type and --resource-id belong together');
  if (userId === undefined && userName === undefined && resourceId === undefined)
    throw new CannotRun('--user-id, --user-name or a resource must say whose events');
  return {
    subject: {
      ...(userId !== undefined && { userId }),
      ...(userName !== undefined && { userName }),
      ...(resourceType !== undefined && { resourceType }),
      ...(resourceId !== undefined && { resourceId }),
    },
    ...(fields.length > 0 && { fields: [...fields] }),
    reason,
  };
}
