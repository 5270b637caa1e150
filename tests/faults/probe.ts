// A cheap question that is asked again and again beside whatever a test does, by a process of its own.

import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { SIZE } from './size.ts';

/** What is promised on a quiet machine. */
export const PROMISED_MS = 100;
/** A suite runs other things beside it, so the short form notices only what blocks for a second. */
export const WAIT_MS_MAX = SIZE.isLong ? PROMISED_MS : 1000;
/** What blocks does so each time; what else the machine does comes once. */
export const AGAIN_MAX = 2;

export class Probe implements AsyncDisposable {
  readonly #child: ChildProcess;

  constructor(url: string) {
    this.#child = fork(join(import.meta.dirname, 'processes/probe.ts'), [url]);
  }

  /** Since the last time it was asked. */
  async longestMs(): Promise<number> {
    this.#child.send('report');
    const [longestMs] = (await once(this.#child, 'message')) as [number];
    return longestMs;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#child.kill();
    await once(this.#child, 'exit');
  }
}
