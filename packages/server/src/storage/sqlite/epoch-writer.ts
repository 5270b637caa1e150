// Goes on openly after a restore: a new log under a new origin, whose genesis and first entry name the checkpoint that
// was anchored last. It looks for itself whether that is called for: where the store still has what was anchored, going
// on under another name would only hide that nothing is lost.

import type { DatabaseSync, StatementSync } from 'node:sqlite';
import {
  CompactRange,
  epochGenesisHash,
  formatCheckpoint,
  KINDS,
  leafHash,
  toBase64,
} from '@tallystick/evidence';
import type { EpochRequest, EpochResult } from '../../streams/log.ts';
import { numberOrNone } from './columns.ts';
import type { Head } from './heads.ts';
import { makeNotice, type OwnNoticesOptions } from './own-notices.ts';
import type { StreamWriter } from './stream-writer.ts';
import { type LogPlace, TreeTables } from './tree-tables.ts';

export interface EpochWriterOptions extends OwnNoticesOptions {
  readonly logOrigin: string;
}

type Anchored = EpochRequest['anchored'];

/** So many entries are read at once. */
const LOT = 10_000;

export class EpochWriter {
  readonly #options: EpochWriterOptions;
  readonly #streamWriter: StreamWriter;
  readonly #trees: TreeTables;
  readonly #insertEpoch: StatementSync;
  readonly #signedBelow: StatementSync;

  constructor(db: DatabaseSync, streamWriter: StreamWriter, options: EpochWriterOptions) {
    this.#options = options;
    this.#streamWriter = streamWriter;
    this.#trees = new TreeTables(db, options.logOrigin);
    this.#insertEpoch = db.prepare(
      'INSERT INTO epochs (tenant, epoch, first_index, previous_checkpoint) VALUES (?, ?, ?, ?)',
    );
    this.#signedBelow = db.prepare(
      'SELECT max(size) AS size FROM checkpoints WHERE tenant = ? AND epoch = ? AND size < ?',
    );
  }

  /** In the transaction in which the head was read. */
  begin({ tenant, anchored }: EpochRequest, head: Head, nowMs: number): EpochResult {
    const log = this.#trees.log(tenant);
    const ended = this.#trees.epochOf(tenant, anchored.origin);
    if (log === undefined || ended === undefined) return { status: 'Unknown' };
    const restoredSize = this.#restoredSize(anchored, ended, log, head.nextIndex);
    if (restoredSize === undefined) return { status: 'NotNeeded' };
    // Also those epochs are over that the store has never heard of.
    const epoch = Math.max(log.epoch, ended) + 1;
    const origin = this.#trees.originOf(tenant, epoch);
    const text = formatCheckpoint(anchored);
    this.#insertEpoch.run(head.tenant, epoch, head.nextIndex, text);
    head.logFirstIndex = head.nextIndex;
    head.previous = epochGenesisHash(origin, text);
    const notice = makeNotice(
      {
        kind: KINDS.newEpoch,
        action: 'Begin.LogEpoch',
        resource: { resourceType: 'LogEpoch', resourceId: origin },
        payload: {
          previousOrigin: anchored.origin,
          anchoredSize: anchored.size,
          anchoredRoot: toBase64(anchored.root),
          restoredSize,
        },
      },
      Math.max(nowMs, head.receivedAtMs),
      this.#options,
    );
    return { status: 'Begun', origin, restoredSize, notice: this.#streamWriter.begin(notice, head, nowMs) };
  }

  /** Undefined where the store has what was anchored, or has gone on from it. */
  #restoredSize(anchored: Anchored, ended: number, log: LogPlace, nextIndex: number): number | undefined {
    if (ended < log.epoch) return undefined;
    if (ended > log.epoch) return 0;
    const entries = nextIndex - log.firstIndex;
    if (entries < anchored.size) return entries;
    if (Buffer.compare(this.#rootAt(log, anchored.size), anchored.root) === 0) return undefined;
    // Where they part is not known: what is there of the anchored log is what was signed before it.
    const row = this.#signedBelow.get(log.tenant, log.epoch, anchored.size);
    return numberOrNone(row, 'size') ?? 0;
  }

  /** From the entries alone: the hashes of tiles are there only as far as it was signed. */
  #rootAt(log: LogPlace, size: number): Uint8Array {
    const range = new CompactRange();
    while (range.size < size) {
      const lot = this.#trees.entries(log, range.size, Math.min(LOT, size - range.size));
      if (lot.length === 0) break;
      for (const { entry } of lot) range.append(leafHash(entry));
    }
    return range.root();
  }
}
