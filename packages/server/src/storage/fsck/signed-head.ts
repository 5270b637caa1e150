// How far a log is signed, and whether a range of its entries leads to that.

import {
  type Checkpoint,
  type CompactRange,
  compactRangeRoot,
  EMPTY_ROOT,
  equalBytes,
  parseCheckpoint,
  parseNote,
  proveRange,
} from '@tallystick/evidence';
import { awaited, type Resumable } from '../resumable.ts';
import type { LogIdentity } from '../rows/log-identity.ts';
import type { StoredTrees } from '../tree/stored-trees.ts';
import { NoteReader, type TrustedKey } from './notes.ts';
import { fault } from './store-fault.ts';

export type SignedHead = Pick<Checkpoint, 'size' | 'root'>;

/** That of the newest checkpoint. With `keys`, one of them must have signed it; throws EvidenceError. */
export function* signedHead<Log extends LogIdentity<unknown>>(
  store: Pick<StoredTrees<Log>, 'latest'>,
  log: Log,
  keys: readonly TrustedKey[] | undefined,
): Resumable<SignedHead> {
  const latest = yield* awaited(store.latest(log));
  if (latest === undefined) return { size: 0, root: EMPTY_ROOT };
  const { origin, size, root } = parseCheckpoint(parseNote(latest.note).text);
  if (origin !== log.origin || size !== latest.size)
    throw fault('ORIGIN_MISMATCH', `the checkpoint of size ${latest.size} is of another log or size`);
  if (keys !== undefined) new NoteReader(origin, keys).read(latest.note, true);
  return { size, root };
}

/** Whether the range and the stored hashes around it make the signed root. */
export function* leadsToHead<Log extends LogIdentity<unknown>>(
  store: Pick<StoredTrees<Log>, 'made'>,
  log: Log,
  { size, root }: SignedHead,
  range: CompactRange,
): Resumable<boolean> {
  if (size === 0) return true;
  const made = store.made(log, size, (read) => proveRange(range.begin, range.end, size, read));
  return equalBytes(compactRangeRoot(range, size, yield* awaited(made)), root);
}
