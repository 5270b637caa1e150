// tallystick redact: removes fields of an event for good, or confirms what another caller has asked for. Exit codes: 0 done, or
// waiting for a second caller; 1 failed, or nothing was done; 2 the command line is wrong.

import type { AwaitingConfirmation, Erasure, RedactionReceipt } from '@tallystick/contract';
import { Command } from 'commander';
import { addServiceOptions, serviceIn, type ServiceOptions } from '../address-options.ts';
import { isAgreed, type YesOption } from '../ask-yes.ts';
import { EXIT } from '../cannot-run.ts';
import { failedAsking } from '../failed-asking.ts';
import { collect } from '../given-option.ts';
import { complain } from '../output/complain.ts';
import { type LineOutput, lineOutput } from '../output/line-output.ts';
import { printable } from '../output/printable.ts';
import { jsonLines, type JsonOption } from '../output/rows.ts';
import { newChange } from '../new-change.ts';
import { servedRedaction } from '../redaction/served-redaction.ts';

interface RedactOptions extends ServiceOptions, JsonOption, YesOption {
  readonly field: readonly string[];
  readonly reason: string;
}

export function redactCommand(): Command {
  const command = new Command('redact')
    .summary('remove fields of an event for good')
    .description(
      'Removes fields of an event from a running service for good. The event stays, and so does every proof; a notice in the ' +
        'log says what went. Where the tenant wants four eyes, another caller must confirm it: tallystick confirm.\n' +
        'Exit code 0: done, or waiting for the other caller. 1: failed, or nothing was removed. 2: the command line is wrong.',
    )
    .argument('<event>', 'its eventId');
  return addServiceOptions(command, 'whose event')
    .requiredOption(
      '--field <path>',
      'payload.iban, actor.userName, context; repeat for several',
      collect,
      [],
    )
    .requiredOption('--reason <text>', 'why; it is in the diagnostics of the service, and not in the log')
    .option('--yes', 'do not ask; needed where there is no terminal')
    .option('--json', "print the service's answer, as JSON")
    .action((eventId: string, options: RedactOptions) => redact(eventId, options));
}

async function redact(eventId: string, options: RedactOptions): Promise<void> {
  try {
    const { field: fields, reason } = options;
    const service = servedRedaction(serviceIn(options));
    if (!(await isAgreed(`Remove ${fields.join(', ')} of ${eventId} for good?`, options))) {
      complain('nothing was removed');
      process.exitCode = EXIT.failed;
      return;
    }
    const answer = await service.redact(eventId, { fields, reason }, await newChange());
    await writeAnswer(answer, options, lineOutput());
    process.exitCode = EXIT.done;
  } catch (error) {
    process.exitCode = failedAsking(error);
  }
}

export async function writeAnswer(
  answer: RedactionReceipt | Erasure | AwaitingConfirmation,
  { json, tenant }: JsonOption & Pick<ServiceOptions, 'tenant'>,
  out: LineOutput,
): Promise<void> {
  await out.write(json ? jsonLines(answer) : linesOf(answer, tenant).map(printable));
}

function linesOf(answer: RedactionReceipt | Erasure | AwaitingConfirmation, tenant: string): string[] {
  if ('operationId' in answer)
    return [`waits for another caller: tallystick confirm ${answer.operationId} --tenant ${tenant}`];
  if ('erasureId' in answer) return erasureLines(answer);
  const { fields, eventId, noticeId } = answer;
  return [`removed ${fields.join(', ')} of ${eventId}, under notice ${noticeId}`];
}

function erasureLines(erasure: Erasure): string[] {
  const { erasureId, status, matchedEvents, erasedEvents, heldEvents = 0, noticeId, failureReason } = erasure;
  const lines = [`erasure ${erasureId}: ${status}, under notice ${noticeId ?? '-'}`];
  if (matchedEvents !== undefined) lines.push(`${erasedEvents} of ${matchedEvents} events erased`);
  if (erasedEvents === undefined)
    lines.push('how many events that are is told only to callers from whom nothing is withheld');
  if (heldEvents > 0) lines.push(`${heldEvents} are kept by legal holds, and are erased when these end`);
  if (failureReason !== undefined) lines.push(failureReason);
  return lines;
}
