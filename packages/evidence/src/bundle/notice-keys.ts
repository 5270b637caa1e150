// Reads a notice as a verifier must: with the keys that it names, which have to be keys that sign checkpoints.

import { EvidenceError } from '../errors.ts';
import { type Entry, KINDS } from '../event/entry.ts';
import { type Notice, readNotice } from '../event/notices.ts';
import type { ShownEvent } from '../event/shown-event.ts';
import { parseVerifierKey, SIGNATURE_TYPES } from '../note/verifier-key.ts';

export function readNoticeAndKeys(entry: Entry, shown: ShownEvent): Notice {
  const notice = readNotice(entry, shown);
  if (notice.kind !== KINDS.keyRotation) return notice;
  const { previousKey, newKey } = notice.payload;
  for (const key of [previousKey, newKey]) requireSigningKey(key, entry.index);
  return notice;
}

function requireSigningKey(key: string, index: number): void {
  try {
    if (parseVerifierKey(key).type === SIGNATURE_TYPES.note) return;
  } catch (cause) {
    const message = `notice at index ${index} names a key that is none`;
    throw new EvidenceError('NOTICE_INVALID', message, { index, cause });
  }
  throw new EvidenceError('NOTICE_INVALID', `notice at index ${index} names a key of another type`, {
    index,
  });
}
