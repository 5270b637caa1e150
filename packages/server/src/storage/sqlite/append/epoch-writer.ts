// Begins a new log after a restore, if pool/decide-epoch.ts allows it.

import type { DatabaseSync, StatementSync } from 'node:sqlite';
import type { EpochRequest, EpochResult } from '../../../streams/log.ts';
import { beginLog, decideEpoch, type EpochRead, type ReadCheckpoint } from '../../pool/decide-epoch.ts';
import type { OwnNoticesOptions } from '../../pool/own-notices.ts';
import type { StreamWriter } from '../../pool/stream-writer.ts';
import { textIn } from '../../rows/columns.ts';
import type { NumberedHead } from './heads.ts';
import { type LogIdentity, TreeTables } from '../tree/tree-tables.ts';

export interface EpochWriterOptions extends OwnNoticesOptions {
  readonly logOrigin: string;
}

export class EpochWriter {
  readonly #options: EpochWriterOptions;
  readonly #streamWriter: StreamWriter<NumberedHead>;
  readonly #trees: TreeTables;
  readonly #insertEpoch: StatementSync;
  readonly #notes: StatementSync;

  constructor(db: DatabaseSync, streamWriter: StreamWriter<NumberedHead>, options: EpochWriterOptions) {
    this.#options = options;
    this.#streamWriter = streamWriter;
    this.#trees = new TreeTables(db, options.logOrigin);
    this.#insertEpoch = db.prepare(
      'INSERT INTO epochs (tenant, epoch, first_index, previous_checkpoint) VALUES (?, ?, ?, ?)',
    );
    this.#notes = db.prepare('SELECT size, note FROM checkpoints WHERE tenant = ? AND epoch = ?');
    this.#notes.setReadBigInts(true);
  }

  /** Runs in the transaction in which the head was read. */
  begin(request: EpochRequest, head: NumberedHead, nowMs: number): EpochResult {
    const deciding = decideEpoch(request, head, this.#options.logOrigin);
    let step = deciding.next();
    while (step.done !== true) step = deciding.next(this.#read(step.value, request));
    const verdict = step.value;
    if (verdict.status !== 'Needed') return verdict;
    this.#insertEpoch.run(head.tenant, verdict.epoch, head.nextIndex, verdict.text);
    return beginLog(verdict, request, head, this.#streamWriter, this.#options, nowMs);
  }

  #read(read: EpochRead, { tenant }: EpochRequest): unknown {
    if (read.verb === 'Log') return this.#trees.log(tenant, read.index);
    // The line above returned this log.
    const log = read.log as LogIdentity;
    if (read.verb === 'Entries') return this.#trees.entries(log, read.index, read.count);
    return this.#notes
      .all(log.tenant, log.epoch)
      .map((row): ReadCheckpoint => ({ size: Number(row['size']), note: textIn(row, 'note') }));
  }
}
