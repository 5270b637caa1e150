// Asks on the terminal before something is changed. Where there is no terminal, the option --yes is the answer.

import { createInterface } from 'node:readline/promises';
import { CannotRun } from './cannot-run.ts';

export interface YesOption {
  readonly yes?: true;
}

/** Throws CannotRun where there is nobody to ask. */
export async function isAgreed(question: string, { yes }: YesOption): Promise<boolean> {
  if (yes) return true;
  if (!process.stdin.isTTY) {
    throw new CannotRun('there is no terminal to ask on: if it is what you want, give --yes');
  }
  const asking = createInterface({ input: process.stdin, output: process.stdout });
  // Ctrl-C and Ctrl-D reject the question, the end of the input only closes it: none of them is a yes.
  const ended = new Promise<string>((resolve) => asking.once('close', () => resolve('')));
  const answered = asking.question(`${question} Type yes: `).catch(withoutAnswer);
  try {
    return (await Promise.race([answered, ended])).trim() === 'yes';
  } finally {
    asking.close();
  }
}

function withoutAnswer(error: unknown): string {
  if (error instanceof Error && error.name === 'AbortError') return '';
  throw error;
}
