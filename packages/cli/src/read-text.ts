// Files that a command is given to read, as text; and why one cannot be read, in one line.

import { readFileSync } from 'node:fs';
import { CannotRun } from './cannot-run.ts';

/** Throws CannotRun. */
export function readText(file: string): string {
  const text = textIn(file);
  if (text === undefined) throw new CannotRun(`${file} is no text`);
  return text;
}

/** Undefined: it is not UTF-8. Throws CannotRun. */
export function textIn(file: string): string | undefined {
  try {
    return textOrNone(readFileSync(file));
  } catch (error) {
    throw cannotRead(file, error);
  }
}

/** Undefined: there is no such file. Throws CannotRun. */
export function textIfAny(file: string): string | undefined {
  try {
    return readFileSync(file, 'utf8');
  } catch (error) {
    if (codeOf(error) === 'ENOENT') return undefined;
    throw cannotRead(file, error);
  }
}

/** Undefined: they are not UTF-8. */
export function textOrNone(bytes: Uint8Array): string | undefined {
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(bytes);
  } catch {
    return undefined;
  }
}

const WHY: Readonly<Record<string, string>> = { ENOENT: 'no such file', EISDIR: 'it is a directory' };

export function cannotRead(file: string, error: unknown): CannotRun {
  const code = codeOf(error);
  return new CannotRun(`cannot read ${file}: ${WHY[code] ?? code}`);
}

/** Of a system call that failed, such as ENOENT; the message of any other error. */
export function codeOf(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  return 'code' in error ? String(error.code) : error.message;
}
