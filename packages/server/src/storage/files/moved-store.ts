// moved.json in a data directory: its log was copied elsewhere, or is being copied, and must not continue here. Two stores
// that continue under one name would be a fork. The service and every writing command refuse such a directory until an
// operator, who knows that the copy was never served, removes the file. Keys and anchor stay in the directory, and belong
// to the copy then.
//
//   {"state":"Copying"|"Moved","to":<where, without a credential>,"copyId":<ULID>,"at":<time>}

import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { EvidenceError, parseJson } from '@tallystick/evidence';
import { StartError } from '../../start-error.ts';
import { codeOf, replaceFile } from './whole-file.ts';

export const MOVED_FILE = 'moved.json';

export interface Move {
  readonly state: 'Copying' | 'Moved';
  readonly to: string;
  /** Shows whether the copy at the other place came from here, and from the current state. */
  readonly copyId: string;
  readonly at: string;
}

/** Throws StartError for an unreadable file. */
export function readMove(directory: string): Move | undefined {
  const path = join(directory, MOVED_FILE);
  let text: string;
  try {
    text = readFileSync(path, 'utf8');
  } catch (error) {
    if (codeOf(error) === 'ENOENT') return undefined;
    throw new StartError(`cannot read ${path} (${codeOf(error)})`, { cause: error });
  }
  const move = moveIn(text);
  if (move !== undefined) return move;
  throw new StartError(`${path} says that the data was copied elsewhere, and cannot be read`);
}

/** Durable when this resolves. */
export function writeMove(directory: string, { state, to, copyId, at }: Move): Promise<void> {
  return replaceFile(join(directory, MOVED_FILE), `${JSON.stringify({ state, to, copyId, at })}\n`);
}

/** Throws StartError for a directory whose log continues elsewhere, or may. */
export function requireNotMoved(directory: string): void {
  const move = readMove(directory);
  if (move === undefined) return;
  const { state, to } = move;
  const path = join(directory, MOVED_FILE);
  throw new StartError(
    state === 'Moved'
      ? `the data of ${directory} has moved to ${to}: name that by Storage__Url. To go on here instead, and only if a service was never started there, remove ${path}`
      : `the data of ${directory} is being copied to ${to}, and the copy was not finished: run \`tallystick copy\` again, or, to go on here instead, remove ${path}`,
  );
}

function moveIn(text: string): Move | undefined {
  let value: Readonly<Record<string, unknown>>;
  try {
    value = { ...(parseJson(text) as object) };
  } catch (error) {
    if (error instanceof EvidenceError || error instanceof SyntaxError) return undefined;
    throw error;
  }
  const { state, to, copyId, at } = value;
  if (state !== 'Copying' && state !== 'Moved') return undefined;
  if (typeof to !== 'string' || typeof copyId !== 'string' || typeof at !== 'string') return undefined;
  return { state, to, copyId, at };
}
