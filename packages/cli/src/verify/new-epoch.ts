// A log that stands under a new name, compared with what was kept of the one before it. After a restore the first entry of
// the new log, a notice of kind 7, names the last checkpoint that was signed under the old name. It must be the one that
// was kept, or one that was proven to extend it: otherwise a rollback or a fork would be a new name away.

import {
  type Checkpoint,
  decodeEntry,
  decodeEntryBundle,
  epochIn,
  type EpochBeginning,
  equalBytes,
  EvidenceError,
  KINDS,
  leafHash,
  parseEventProof,
  type Reason,
  readEpochBeginning,
  tileWidth,
  verifyConsistency,
} from '@tallystick/evidence';
import { authenticHashes } from './authentic-hashes.ts';
import { Contradiction } from './contradiction.ts';
import { counted } from '../output/counted.ts';
import type { ServedLog } from './served-log.ts';
import type { SeenCheckpoint } from './watched-log.ts';

/** A log that was kept, and that the one that is served now has taken the place of. */
export interface FormerLog {
  readonly origin: string;
  /** Of the checkpoint that was kept. */
  readonly size: number;
  readonly proven: boolean;
}

/** The new log goes on from what was kept. */
export interface ContinuedLog extends FormerLog {
  readonly proven: true;
  /** What the new log says of how far the old one had come, and of how much of that is left. */
  readonly anchoredSize: number;
  readonly restoredSize: number;
}

/** Nothing shows that it does, and somebody has gone on all the same. */
export interface AcceptedLog extends FormerLog {
  readonly proven: false;
  readonly reason: Reason;
  readonly message: string;
}

interface Beginning extends EpochBeginning {
  /** The text that shows it. */
  readonly proof: string;
}

/** Throws Contradiction where it is not shown that `now` goes on from `kept`; EvidenceError where what is served is wrong. */
export async function verifyContinues(
  log: Pick<ServedLog, 'tile' | 'proof'>,
  { now, kept, consistency }: { now: Checkpoint; kept: SeenCheckpoint; consistency?: readonly Uint8Array[] },
): Promise<{ readonly verdict: ContinuedLog; readonly former: Checkpoint }> {
  const was = `${kept.origin} was kept with ${counted(kept.size, 'entry', 'entries')}`;
  if (now.size === 0) throw new Contradiction('ROLLBACK', `${now.origin} is empty, and ${was}`, kept);
  const beginning = await beginningOf(log, now);
  if (beginning === undefined) {
    const has = `${now.origin} has ${counted(now.size, 'entry', 'entries')} and names no log before it`;
    throw new Contradiction('FORK', `${has}, and ${was} at this address`, kept);
  }
  const { former, restoredSize, proof } = beginning;
  const fault =
    faultIn({ now, former, kept }) ??
    (former.size > kept.size && kept.size > 0 ? unprovenIn({ now, former, kept }, consistency) : undefined);
  if (fault !== undefined) throw new Contradiction(fault.reason, fault.message, kept, { former, proof });
  const { origin, size } = kept;
  const verdict = { origin, size, proven: true, anchoredSize: former.size, restoredSize } as const;
  return { verdict, former };
}

/** What the first entry says, given its bytes, which were compared with the tree. */
export async function readBeginning(
  log: Pick<ServedLog, 'proof'>,
  bytes: Uint8Array,
  origin: string,
): Promise<Beginning> {
  const entry = decodeEntry(bytes);
  // Entries show no content; the service shows that of a notice to callers that may verify.
  const proof = await log.proof(entry.eventId);
  const { entry: proven, shown } = parseEventProof(proof);
  if (!equalBytes(proven, bytes)) {
    throw new EvidenceError('LEAF_MISMATCH', 'the proof of entry 0 is that of another entry', { index: 0 });
  }
  return { ...readEpochBeginning(entry, shown, origin), proof };
}

/** Throws EvidenceError unless these are the bytes of the first entry, as the tree has it. */
export async function requireFirst(
  log: Pick<ServedLog, 'tile'>,
  now: Checkpoint,
  bytes: Uint8Array,
): Promise<void> {
  const hashes = await authenticHashes(log, now, (read) => read(0, 0));
  if (equalBytes(leafHash(bytes), hashes(0, 0))) return;
  throw new EvidenceError('LEAF_MISMATCH', 'entry 0 is not the one in the tree', { index: 0 });
}

/** Undefined: the log begins by itself, and not after a restore. */
async function beginningOf(
  log: Pick<ServedLog, 'tile' | 'proof'>,
  now: Checkpoint,
): Promise<Beginning | undefined> {
  const width = tileWidth('entries', 0, now.size);
  const bundle = await log.tile({ level: 'entries', index: 0, width });
  const bytes = decodeEntryBundle(bundle, width)[0]!;
  await requireFirst(log, now, bytes);
  return decodeEntry(bytes).kind === KINDS.newEpoch ? readBeginning(log, bytes, now.origin) : undefined;
}

interface Compared {
  readonly now: Checkpoint;
  /** As the new log names it. */
  readonly former: Checkpoint;
  readonly kept: Checkpoint;
}

interface Fault {
  readonly reason: Reason;
  readonly message: string;
}

function faultIn({ now, former, kept }: Compared): Fault | undefined {
  const was = `${kept.origin} was kept with ${counted(kept.size, 'entry', 'entries')}`;
  if (former.origin !== kept.origin) {
    const goesOn = `${now.origin} goes on from ${former.origin}`;
    return isBetween(former.origin, kept.origin)
      ? { reason: 'HISTORY_UNPROVEN', message: `${goesOn}, of which nothing was kept here: ${was}` }
      : { reason: 'FORK', message: `${goesOn} with ${counted(former.size, 'entry', 'entries')}: ${was}` };
  }
  const says = `${now.origin} says that ${former.origin} was signed with ${counted(former.size, 'entry', 'entries')}`;
  if (former.size < kept.size) return { reason: 'ROLLBACK', message: `${says} when it ended: ${was}` };
  if (former.size > kept.size || equalBytes(former.root, kept.root)) return undefined;
  return {
    reason: 'FORK',
    message: `${now.origin} names another root of ${kept.origin} at size ${kept.size}`,
  };
}

/** There were more restores than one, and the log of one of the times between was never seen. */
function isBetween(origin: string, kept: string): boolean {
  const [between, before] = [epochIn(origin), epochIn(kept)];
  return between.first === before.first && between.epoch > before.epoch;
}

/** Two roots of different sizes cannot be compared; what lies between them may be just what was lost. */
function unprovenIn(
  { now, former, kept }: Compared,
  consistency: readonly Uint8Array[] | undefined,
): Fault | undefined {
  const { size: from, root: fromRoot } = kept;
  if (consistency !== undefined) {
    verifyConsistency({ from, fromRoot, to: former.size, toRoot: former.root, proof: consistency });
    return undefined;
  }
  const says = `${now.origin} says that ${former.origin} was signed with ${counted(former.size, 'entry', 'entries')}`;
  const message =
    `${says} when it ended; what was kept has ${from}, and nothing that is served shows that these are the first of ` +
    `those. A consistency proof from ${from} to ${former.size} would (--consistency)`;
  return { reason: 'HISTORY_UNPROVEN', message };
}
