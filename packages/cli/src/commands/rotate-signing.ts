// tallystick keys rotate-signing: makes a new key for the checkpoints of every log, also while the service runs. Every
// log says so in a notice first; then old and new sign together until the overlap ends.

import type { SigningRotation } from '@tallystick/server';
import { Command } from 'commander';
import { warn } from '../output/complain.ts';
import { positiveSecondsIn } from '../output/length-of-time.ts';
import { type ConfigFileOption, dataCommand } from '../data-command.ts';

interface RotateSigningOptions extends ConfigFileOption {
  readonly overlap: string;
}

const SHOWN_MAX = 20;

export function rotateSigningCommand(): Command {
  const command = new Command('rotate-signing')
    .summary('make a new key for signing checkpoints')
    .description(
      'Makes a new key for signing checkpoints. Every log gets a notice that names it, then both keys sign until the ' +
        'overlap ends. A run that was cut short is completed by the next one, with the overlap of the first, unless that ' +
        'is over: then with its own.',
    )
    .option('--overlap <time>', 'how long the old key signs beside the new one', '30d');
  return dataCommand<RotateSigningOptions>(command, async (server, config, options) => {
    const overlapSeconds = positiveSecondsIn(options.overlap, '--overlap');
    show(await server.rotateSigning(config, overlapSeconds * 1000));
  });
}

function show(rotation: SigningRotation): void {
  const { next, previous, overlapEndsAtMs, plannedAtMs, logs, before, without } = rotation;
  const left = [...without];
  for (const [tenant, why] of left.slice(0, SHOWN_MAX)) warn(`the log of ${tenant} has no notice: ${why}`);
  if (left.length > SHOWN_MAX) warn(`and ${left.length - SHOWN_MAX} more logs have none`);
  const earlier =
    before === 0 ? '' : ` (${before} of them since the run of ${instant(plannedAtMs)}, which was cut short)`;
  process.stdout.write(
    `the new signing key is ${next.fingerprint}\n` +
      `the old one, ${previous.fingerprint}, signs beside it until ${instant(overlapEndsAtMs)}\n` +
      `${logs === 1 ? '1 log has' : `${logs} logs have`} the notice${earlier}\n` +
      'Tell auditors and witnesses before then: each log shows its verifier keys at /api/v1/log/t/<tenant>/key.\n',
  );
}

function instant(ms: number): string {
  return new Date(ms).toISOString();
}
