// tallystick recover --accept-lost-anchor: what it shows of logs that the anchor knows less of than was signed, and what it
// says once the operator has accepted them all the same.

import { toHex } from '@tallystick/evidence';
import type { Recovery } from '@tallystick/server';
import { warn } from './output/complain.ts';
import { counted } from './output/counted.ts';

type UnanchoredLog = Recovery['unanchored'][number];

export function shownUnanchored({ tenant, signed, anchoredSize }: UnanchoredLog): string {
  const { origin, size, root } = signed;
  const newest = size === 0 ? 'no checkpoint' : `${counted(size, 'entry', 'entries')}, root ${toHex(root)}`;
  return [
    '',
    `tenant ${tenant}`,
    `  signed   ${newest}, as ${origin}: the newest checkpoint that is here`,
    `  anchored ${anchoredSize === 0 ? 'nothing that is known' : counted(anchoredSize, 'entry', 'entries')}`,
    '',
  ].join('\n');
}

export function acceptQuestion(logs: number): string {
  return `\nGo on with ${counted(logs, 'log')} although a rollback cannot be ruled out?`;
}

/** Whether every log has its notice; the reasons of those that have none are on standard error. */
export async function acceptLostAnchor(recovery: Recovery): Promise<boolean> {
  const { accepted, without } = await recovery.acceptLostAnchor();
  for (const { tenant, signed } of accepted) {
    process.stdout.write(
      `${tenant} goes on as ${signed.origin}: a notice in it says that its anchor was lost, and that it was signed with ${counted(signed.size, 'entry', 'entries')} as far as was known\n`,
    );
  }
  for (const [tenant, why] of without) warn(`the log of ${tenant} is still refused: ${why}`);
  if (accepted.length > 0) process.stdout.write(ADVICE);
  return without.size === 0;
}

const ADVICE = `
Nothing here tells whether these logs were put back to an earlier state before that notice. What others keep tells it:
  - Ask auditors to run tallystick verify on the address of their log once the service runs. ROLLBACK or FORK means that
    what they hold was signed and is not here.
  - With witnesses, see that they cosign the next checkpoints.
Then start the service.
`;
