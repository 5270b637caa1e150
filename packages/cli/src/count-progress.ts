// Progress of work on many entries, or on as many other things, on standard error and only on a terminal.

import type { WriteStream } from 'node:tty';
import type { Progress } from './progress.ts';

const STEP = 2560;

export function startCountProgress(
  what: string,
  total: number,
  to: WriteStream = process.stderr,
  things = 'entries',
): Progress {
  if (!to.isTTY || total < STEP) return { add: () => {}, end: () => {} };
  let done = 0;
  let shown = 0;
  return {
    add(count) {
      done += count;
      if (done - shown < STEP) return;
      shown = done;
      to.write(`\r${what}: ${Math.floor((done / total) * 100)} % of ${total} ${things}`);
    },
    end() {
      to.write('\r\u001b[K');
    },
  };
}
