// How a log begins that goes on after a restore: its first entry is a notice of kind 7, and the hash that its chain begins
// with names the same last checkpoint of the log before. Either alone could be said of any log; both together are in
// the first leaf, and so under every checkpoint that the new log has ever signed.

import { equalBytes, fromBase64 } from '../bytes.ts';
import { EvidenceError } from '../errors.ts';
import { contentOf } from '../event/content.ts';
import { type Entry, epochGenesisHash, KINDS, requireContent } from '../event/entry.ts';
import { type Notice, readNotice } from '../event/notices.ts';
import type { ShownEvent } from '../event/shown-event.ts';
import { type Checkpoint, formatCheckpoint } from '../note/checkpoint.ts';

export interface EpochBeginning {
  /** The last checkpoint that was anchored of the log before. */
  former: Checkpoint;
  /** How many entries of that log the restored copy had. */
  restoredSize: number;
}

/** What the first entry of the log `origin` says of the log before; throws unless entry, notice and genesis agree. */
export function readEpochBeginning(entry: Entry, shown: ShownEvent, origin: string): EpochBeginning {
  requireContent(entry, contentOf(shown));
  return epochBeginning(entry, readNotice(entry, shown), origin);
}

/** The same for a notice that is known to be what the entry holds. */
export function epochBeginning({ previous }: Entry, notice: Notice, origin: string): EpochBeginning {
  if (notice.kind !== KINDS.newEpoch) {
    const message = `the first entry is a notice of kind ${notice.kind}, and begins no epoch`;
    throw new EvidenceError('NOTICE_INVALID', message, { index: notice.index });
  }
  const { previousOrigin, anchoredSize, anchoredRoot, restoredSize } = notice.payload;
  const former = { origin: previousOrigin, size: anchoredSize, root: fromBase64(anchoredRoot) };
  if (!equalBytes(previous, epochGenesisHash(origin, formatCheckpoint(former)))) {
    const message = `the first entry does not begin the chain of ${origin} with the checkpoint that it names`;
    throw new EvidenceError('CHAIN_BROKEN', message, { index: 0 });
  }
  return { former, restoredSize };
}
