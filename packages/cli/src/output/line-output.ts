// Lines on standard output, no faster than they are read. A reader that goes away, as `head` does, ends the work quietly.

import { once } from 'node:events';

export interface LineOutput {
  /** Aborted once nobody reads any more. */
  readonly closed: AbortSignal;
  write(lines: readonly string[]): Promise<void>;
}

export function lineOutput(to: NodeJS.WriteStream = process.stdout): LineOutput {
  const closing = new AbortController();
  const { signal: closed } = closing;
  to.on('error', () => closing.abort());
  return {
    closed,
    async write(lines) {
      if (closed.aborted || lines.length === 0) return;
      if (to.write(`${lines.join('\n')}\n`)) return;
      // An abort in between is no failure: it has been noted.
      await once(to, 'drain', { signal: closed }).catch(() => {});
    },
  };
}
