// Which logs stood before the one that is served now, as far as anything of them was kept or is given, and what becomes of
// the comparison with each. What does not go on from them is refused, unless somebody says that they know better.

import {
  type Checkpoint,
  epochIn,
  EvidenceError,
  formatVerifierKey,
  noteVerifier,
  openCheckpoint,
  parseCheckpoint,
  parseNote,
  type Trust,
} from '@tallystick/evidence';
import { CannotRun } from '../cannot-run.ts';
import { counted } from '../output/counted.ts';
import { Contradiction } from './contradiction.ts';
import { type AcceptedLog, type ContinuedLog, verifyContinues } from './new-epoch.ts';
import { orPutAside } from './put-aside.ts';
import type { ServedLog } from './served-log.ts';
import { readText } from '../read-text.ts';
import { parsedKey } from './trust-options.ts';
import type { Trusted } from './verify-log.ts';
import type { SeenCheckpoint, WatchedLogs } from './watched-log.ts';

/** The log that its tenant had before, if this one is new here; and the one that stood at the address, if it is another. */
export function formersOf(
  address: string,
  { origin, kept }: Pick<Trusted, 'origin' | 'kept'>,
  watched: WatchedLogs,
): SeenCheckpoint[] {
  const before = kept === undefined ? watched.before(origin) : undefined;
  const there = watched.at(address);
  const isOther = there !== undefined && there.origin !== origin && there.origin !== before?.origin;
  // Of one tenant the newest is enough: it was compared with those before it when it was kept.
  const isOlder = isOther && before !== undefined && isEarlier(there.origin, origin);
  return [before, isOther && !isOlder ? there : undefined]
    .filter((log) => log !== undefined)
    .map((log) => watched.seen(log));
}

/** The checkpoint in the file, if it is of a log that the tenant had before this one, and signed by the same key. */
export async function formerSince(
  file: string | undefined,
  { origin: now, keys }: Pick<Trusted, 'origin' | 'keys'>,
): Promise<SeenCheckpoint | undefined> {
  if (file === undefined) return undefined;
  const note = readText(file);
  try {
    const { origin } = parseCheckpoint(parseNote(note).text);
    if (!isEarlier(origin, now)) return undefined;
    const verifiers = await Promise.all(keysUnder(origin, keys).map(noteVerifier));
    return { ...(await openCheckpoint(note, { origin, verifiers })), note, file };
  } catch (error) {
    if (!(error instanceof EvidenceError)) throw error;
    throw new CannotRun(`${file} is no checkpoint signed by that key: ${error.message}`);
  }
}

/** The same keys for a log of another name: the id of a key is made from its name, too. */
export function keysUnder(name: string, keys: readonly string[]): string[] {
  return keys.map((key) => formatVerifierKey({ ...parsedKey(key), name }));
}

/** Whether both are of one tenant, and the first was before the second, as their names tell. */
export function isEarlier(origin: string, now: string): boolean {
  const [then, later] = [epochIn(origin), epochIn(now)];
  return then.first === later.first && then.epoch < later.epoch;
}

interface Shown {
  readonly log: ServedLog;
  readonly note: string;
  readonly now: Checkpoint;
  readonly watched: WatchedLogs;
  readonly trusted: Trusted;
  readonly trust: Trust;
}

export interface FormerLogs {
  readonly verdicts: readonly (ContinuedLog | AcceptedLog)[];
  /** The end of the log before this one, as its first entry names it, if that was read. */
  readonly former: Checkpoint | undefined;
}

export async function verifyFormerLogs(
  { log, note, now, watched, trusted, trust }: Shown,
  formers: readonly SeenCheckpoint[],
  isAccepted: boolean,
): Promise<FormerLogs> {
  const { consistency, verifiers } = trust;
  if (formers.length === 0 && consistency !== undefined) {
    throw new CannotRun('--consistency is for a log that goes on under a new name, and is new here');
  }
  const verdicts: (ContinuedLog | AcceptedLog)[] = [];
  let former: Checkpoint | undefined;
  for (const kept of formers) {
    const { origin, size } = kept;
    const parts = { now, kept, ...(consistency === undefined ? {} : { consistency }) };
    try {
      const refused = { watched, origin, note, now, verifiers };
      const continued = await orPutAside(refused, () => verifyContinues(log, parts));
      if (trusted.isRenamed && !isAccepted) throw notVouchedFor(now, continued.verdict);
      verdicts.push(continued.verdict);
      former = continued.former;
    } catch (error) {
      if (!(error instanceof Contradiction) || !isAccepted) throw error;
      verdicts.push({ origin, size, proven: false, reason: error.reason, message: error.message });
      former ??= error.named?.former;
    }
  }
  return { verdicts, former };
}

/** What it goes on from is proven; that it went on was an act of the operator's, of which somebody should know. */
function notVouchedFor({ origin }: Checkpoint, former: ContinuedLog): EvidenceError {
  const { size, anchoredSize, restoredSize } = former;
  const message =
    `the log here is ${origin} now. It goes on from ${former.origin}, kept at size ${size}, after a restore that ` +
    `left ${restoredSize} of ${counted(anchoredSize, 'entry', 'entries')}. Nobody has said that this is right: give its key by --key, or ` +
    `--accept-new-epoch`;
  return new EvidenceError('ORIGIN_MISMATCH', message);
}
