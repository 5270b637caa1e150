// label(x) = "audit-trail/" x "1\n" 0x00, 16 bytes: what a hash is of is part of what is hashed, so that no
// tag can pass for a commitment, no group root for a content, and no entry for anything else.

import { utf8 } from '../bytes.ts';

export const LABEL_BYTES = 16;

export const LABEL_TAG = label('t');
export const LABEL_COMMITMENT = label('f');
export const LABEL_GROUP = label('r');
export const LABEL_CONTENT = label('c');
export const LABEL_ENTRY = label('e');
export const LABEL_GENESIS = label('g');

function label(letter: string): Uint8Array {
  return utf8(`audit-trail/${letter}1\n\0`);
}
