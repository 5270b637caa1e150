// A log as it is signed now, compared with what was seen of it: it begins with that, and nothing follows its end,
// which is known where another log goes on from it.

import { type Checkpoint, equalBytes, EvidenceError, type HashReader, treeRoot } from '@tallystick/evidence';
import { authenticHashes } from './authentic-hashes.ts';
import { counted } from '../output/counted.ts';
import { Contradiction } from './contradiction.ts';
import type { ServedLog } from './served-log.ts';
import { keptCheckpoint, type SeenCheckpoint, type WatchedLog, type WatchedLogs } from './watched-log.ts';

/** What was seen before is the beginning of what is signed now, and the tiles that show it lead to the signed root. */
export async function verifyGrowth(
  log: ServedLog,
  now: Checkpoint,
  seen: readonly SeenCheckpoint[],
): Promise<void> {
  for (const then of seen) requireNotLess(then, now);
  const older = seen.filter(({ size }) => size > 0 && size < now.size);
  const rootsThen = (hashes: HashReader) => older.map(({ size }) => treeRoot(size, hashes));
  const roots = rootsThen(await authenticHashes(log, now, rootsThen));
  for (const [i, then] of older.entries()) requireRoot(then, roots[i]!);
}

function requireNotLess(then: SeenCheckpoint, now: Checkpoint): void {
  if (then.origin !== now.origin) {
    const message = `the older checkpoint is of ${then.origin}, not of ${now.origin}`;
    throw new EvidenceError('ORIGIN_MISMATCH', message);
  }
  if (then.size > now.size) {
    throw new Contradiction(
      'ROLLBACK',
      `the log has ${counted(now.size, 'entry', 'entries')}; it had ${then.size}`,
      then,
    );
  }
  if (then.size === now.size) requireRoot(then, now.root);
}

function requireRoot(then: SeenCheckpoint, found: Uint8Array): void {
  if (equalBytes(then.root, found)) return;
  throw new Contradiction('FORK', `the log is not an extension of what it was at size ${then.size}`, then);
}

/** A log that another one goes on from has ended: it is not more than that one says, wherever it is served. */
export function requireNotEnded(now: Checkpoint, kept: WatchedLog | undefined, watched: WatchedLogs): void {
  const { origin, size, root } = now;
  const keptSize = kept === undefined ? undefined : keptCheckpoint(kept).size;
  if (size === keptSize) return;
  const ended = watched.endOf(origin);
  if (ended !== undefined) {
    const { end, by } = ended;
    const says = `${by}, which goes on from it, says that it ended with ${end.size}`;
    if (size > end.size)
      throw new EvidenceError('FORK', `${origin} has ${counted(size, 'entry', 'entries')}, and ${says}`);
    if (size < end.size || equalBytes(root, end.root)) return;
    throw new EvidenceError('FORK', `${origin} has another root than the one that ${by} says it ended with`);
  }
  const [later] = watched.after(origin);
  if (later === undefined || keptSize === undefined) return;
  const message = `${origin} has grown from ${keptSize} to ${size}, and ${later.origin}, which came after it, is known here`;
  throw new EvidenceError('HISTORY_UNPROVEN', `${message}; nothing that was kept says where it ended`);
}
