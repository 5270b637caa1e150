// Whether a record is still the one that a caller has read.

import { AuditError } from '@tallystick/contract';

/** Throws VERSION_CONFLICT. Of the header as the contract allows it; weak tags match nothing. */
export function requireMatch(ifMatch: string | undefined, version: number): void {
  if (ifMatch === undefined || ifMatch === '*') return;
  const tags = ifMatch.split(',').map((tag) => tag.trim());
  if (tags.includes(`"${version}"`)) return;
  throw new AuditError('VERSION_CONFLICT', `The record has version ${version} by now; read it again.`, {
    details: [{ field: 'If-Match', issue: `must hold "${version}"`, value: ifMatch }],
  });
}
