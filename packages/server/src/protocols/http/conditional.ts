// Conditional reading: the entity tag of an answer, which is a hash of what this reader gets, and whether the
// caller's `If-None-Match` names it (RFC 9110, 13.1.2). A header that is malformed asks for nothing.

import { hash } from 'node:crypto';

/**
 * Strong, in quotes, and another one for each coding, because each has its own bytes. 128 bits are enough to tell the
 * versions of one resource apart.
 */
export function entityTagOf(content: string | Uint8Array, coding?: string): string {
  const name = hash('sha256', content, 'base64url').slice(0, 22);
  return coding === undefined ? `"${name}"` : `"${name}-${coding}"`;
}

const LISTED = /(?:W\/)?("[\x21\x23-\x7e\x80-\xff]*")/g;

/** Weakly compared, as the header asks: `W/` makes no difference. */
export function namesTag(ifNoneMatch: string | undefined, tag: string): boolean {
  if (ifNoneMatch === undefined) return false;
  if (ifNoneMatch.trim() === '*') return true;
  for (const [, listed] of ifNoneMatch.matchAll(LISTED)) if (listed === tag.replace(/^W\//, '')) return true;
  return false;
}
