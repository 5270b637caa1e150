// What `tallystick verify <url>` says once a log is verified: what was shown to hold, and whose word that rests on.

import { type Checkpoint, toHex } from '@tallystick/evidence';
import { counted } from '../output/counted.ts';
import type { AcceptedLog, ContinuedLog } from './new-epoch.ts';
import { lines, type Report } from './verify-report.ts';
import type { WholeLogVerdict } from './whole-log.ts';

/** Handed in; known from an earlier run; or taken from the service itself, which proves nothing about whose it is. */
export type KeysFrom = 'Given' | 'Kept' | 'FirstUse';

export interface LogVerdict {
  readonly address: string;
  readonly checkpoint: Checkpoint;
  readonly cosignedBy: readonly string[];
  /** Size of the newest older checkpoint that this one extends; undefined where there was none. */
  readonly extends: number | undefined;
  readonly keys: readonly string[];
  readonly keysFrom: KeysFrom;
  /** Logs that were kept, and that this one has taken the place of just now. */
  readonly formerLogs: readonly (ContinuedLog | AcceptedLog)[];
  /** Undefined where the entries were not asked for. */
  readonly entries: WholeLogVerdict | undefined;
  /** The file of the checkpoint. */
  readonly keptIn: string;
}

const KEY_WORDS: Readonly<Record<KeysFrom, string>> = {
  Given: 'as given',
  Kept: 'known from before',
  FirstUse: "TAKEN FROM THE SERVICE ITSELF, and trusted from now on: compare it with the operator's",
};

export function reportLog(verdict: LogVerdict): Report {
  const { address, checkpoint, cosignedBy, keys, keysFrom, formerLogs, entries, keptIn } = verdict;
  const root = toHex(checkpoint.root);
  const rows: [string, string][] = [
    ['log', checkpoint.origin],
    ['checkpoint', `size ${checkpoint.size}, root ${root}`],
    ...(cosignedBy.length === 0 ? [] : [['witnesses', cosignedBy.join(', ')] satisfies [string, string]]),
    ['history', historyOf(verdict)],
    ...formerLogs.map((former): [string, string] => ['before', formerOf(former)]),
    ['entries', entriesOf(entries)],
    ...keys.map((key): [string, string] => ['key', `${key}, ${KEY_WORDS[keysFrom]}`]),
    ['kept', keptIn],
  ];
  return {
    text: lines(`verified  ${address}`, rows),
    json: {
      verified: true,
      kind: 'Log',
      address,
      origin: checkpoint.origin,
      checkpoint: { size: checkpoint.size, root, cosignedBy },
      extends: verdict.extends ?? null,
      keys,
      keysFrom,
      formerLogs,
      entries: entries ?? null,
      keptIn,
    },
  };
}

function historyOf({ extends: size }: LogVerdict): string {
  return size === undefined
    ? 'nothing was seen of this log before: from now on it must extend this checkpoint'
    : `extends the checkpoint of size ${size}, seen before`;
}

function formerOf(former: ContinuedLog | AcceptedLog): string {
  const { origin, size } = former;
  if (!former.proven) {
    return `NOT PROVEN, and accepted by --accept-new-epoch: ${former.reason}, ${former.message}`;
  }
  const { anchoredSize, restoredSize } = former;
  const lost =
    size > restoredSize
      ? `; ${size - restoredSize} of those that were seen ${size - restoredSize === 1 ? 'is' : 'are'} lost`
      : '';
  return `goes on from ${origin}, kept at size ${size}, after a restore that left ${restoredSize} of its ${counted(anchoredSize, 'entry', 'entries')}${lost}`;
}

function entriesOf(entries: WholeLogVerdict | undefined): string {
  if (entries === undefined) return 'not read; --entries reads them all';
  const { firstReceivedAtMs: first, lastReceivedAtMs: last, tiles } = entries;
  const notices = entries.notices === 1 ? '1 of them a notice' : `${entries.notices} of them notices`;
  const count = `all ${entries.entries} read, ${notices}, with ${counted(tiles, 'tile')}`;
  if (first === undefined || last === undefined) return count;
  return `${count}; received ${new Date(first).toISOString()} to ${new Date(last).toISOString()}`;
}
