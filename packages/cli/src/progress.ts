// Progress of long work, on standard error and only on a terminal: pipes and files stay clean.

import type { WriteStream } from 'node:tty';

export interface Progress {
  add(bytes: number): void;
  end(): void;
}

const STEP_BYTES = 8 * 1_048_576;

export function startProgress(what: string, bytesTotal: number, to: WriteStream = process.stderr): Progress {
  if (!to.isTTY || bytesTotal < STEP_BYTES) return { add: () => {}, end: () => {} };
  let done = 0;
  let shown = 0;
  return {
    add(bytes) {
      done += bytes;
      if (done - shown < STEP_BYTES) return;
      shown = done;
      to.write(
        `\r${what}: ${Math.floor((done / bytesTotal) * 100)} % of ${Math.round(bytesTotal / 1_048_576)} MB`,
      );
    },
    end() {
      to.write('\r\u001b[K');
    },
  };
}
