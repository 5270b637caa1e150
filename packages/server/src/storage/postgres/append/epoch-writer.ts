// Begins a new log after a restore, if pool/decide-epoch.ts allows it.

import type { TenantId } from '@tallystick/contract';
import type { EpochRequest, EpochResult } from '../../../streams/log.ts';
import {
  beginLog,
  decideEpoch,
  type EpochRead,
  type ReadCheckpoint,
  type ReadEntry,
} from '../../pool/decide-epoch.ts';
import type { Head } from '../../pool/head.ts';
import type { OwnNoticesOptions } from '../../pool/own-notices.ts';
import type { StreamWriter } from '../../pool/stream-writer.ts';
import { blobOf, numberOf, textIn } from '../../rows/columns.ts';
import { statement, type Transaction } from '../connection/database.ts';
import { LOG_COLUMNS, logIn } from '../log/log-row.ts';

export interface EpochParts extends OwnNoticesOptions {
  readonly transaction: Transaction;
  readonly streamWriter: StreamWriter<Head>;
  readonly logOrigin: string;
}

const EPOCH = statement(
  `SELECT ${LOG_COLUMNS} FROM epochs AS log WHERE tenant_id = $1 AND first_index <= $2 ORDER BY epoch DESC LIMIT 1`,
);
const ENTRIES = statement(
  `SELECT entry, leaf FROM entries WHERE tenant_id = $1 AND leaf_index >= $2 AND leaf_index < $3 ORDER BY leaf_index`,
);
const NOTES = statement('SELECT size, note FROM checkpoints WHERE tenant_id = $1 AND epoch = $2');
const INSERT = statement(
  'INSERT INTO epochs (tenant_id, epoch, first_index, previous_checkpoint) VALUES ($1, $2, $3, $4)',
);

// Refusals of the ended log; no node is running now.
const FORGET_REFUSALS = statement('DELETE FROM refused_logs WHERE tenant_id = $1');

/** Runs in the transaction in which the head was locked. */
export async function beginEpoch(
  parts: EpochParts,
  request: EpochRequest,
  head: Head,
  nowMs: number,
): Promise<EpochResult> {
  const deciding = decideEpoch(request, head, parts.logOrigin);
  let step = deciding.next();
  while (step.done !== true) step = deciding.next(await readFor(step.value, request.tenant, parts));
  const verdict = step.value;
  if (verdict.status !== 'Needed') return verdict;
  const values = [head.tenantId, verdict.epoch, head.nextIndex, verdict.text];
  await parts.transaction.change(INSERT, values);
  await parts.transaction.change(FORGET_REFUSALS, [head.tenantId]);
  return beginLog(verdict, request, head, parts.streamWriter, parts, nowMs);
}

async function readFor(
  read: EpochRead,
  tenant: TenantId,
  { transaction, logOrigin }: EpochParts,
): Promise<unknown> {
  switch (read.verb) {
    case 'Log':
      return logIn(
        (await transaction.query(EPOCH, [tenant, read.index ?? Number.MAX_SAFE_INTEGER]))[0],
        tenant,
        logOrigin,
      );
    case 'Entries': {
      const from = read.log.firstIndex + read.index;
      const rows = await transaction.query(ENTRIES, [tenant, from, from + read.count]);
      return rows.map((row): ReadEntry => ({ entry: blobOf(row, 'entry'), leaf: blobOf(row, 'leaf') }));
    }
    case 'Notes': {
      const rows = await transaction.query(NOTES, [tenant, read.log.epoch]);
      return rows.map((row): ReadCheckpoint => ({ size: numberOf(row, 'size'), note: textIn(row, 'note') }));
    }
  }
}
