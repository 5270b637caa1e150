// An error answer of a service, `{"error":{"code":…,"message":…}}`, as one line for people.

import { EvidenceError, parseJson } from '@tallystick/evidence';
import { membersOf } from './members.ts';
import { printable } from './output/printable.ts';

/** So much of what a service says of itself is shown. */
const WORDS_MAX = 500;

export interface ErrorAnswer {
  readonly code: string | undefined;
  readonly shown: string;
}

/** Undefined: it is none. */
export function errorAnswerIn(text: string): ErrorAnswer | undefined {
  let body: unknown;
  try {
    body = parseJson(text);
  } catch (error) {
    if (error instanceof EvidenceError) return undefined;
    throw error;
  }
  const { code, message } = membersOf(membersOf(body)['error']);
  const words = [code, message].filter((part) => typeof part === 'string');
  if (words.length === 0) return undefined;
  return {
    code: typeof code === 'string' ? code : undefined,
    shown: printable(words.join(': ').slice(0, WORDS_MAX)),
  };
}
