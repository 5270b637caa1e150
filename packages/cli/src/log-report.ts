// What `tallystick verify <url>` says once a log is verified: what was shown to hold, and whose word that rests on.

import { type Checkpoint, toHex } from '@tallystick/evidence';
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
  const { address, checkpoint, cosignedBy, keys, keysFrom, entries, keptIn } = verdict;
  const root = toHex(checkpoint.root);
  const rows: [string, string][] = [
    ['log', checkpoint.origin],
    ['checkpoint', `size ${checkpoint.size}, root ${root}`],
    ...(cosignedBy.length === 0 ? [] : [['witnesses', cosignedBy.join(', ')] satisfies [string, string]]),
    ['history', historyOf(verdict)],
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

function entriesOf(entries: WholeLogVerdict | undefined): string {
  if (entries === undefined) return 'not read; --entries reads them all';
  const { firstReceivedAtMs: first, lastReceivedAtMs: last, tiles } = entries;
  const count = `all ${entries.entries} read, ${entries.notices} of them notices, with ${tiles} tiles`;
  if (first === undefined || last === undefined) return count;
  return `${count}; received ${new Date(first).toISOString()} to ${new Date(last).toISOString()}`;
}
