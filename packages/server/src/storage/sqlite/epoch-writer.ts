// Goes on openly after a restore: a new log under a new origin, whose genesis and first entry name the checkpoint that
// was anchored last. It looks for itself whether that is called for: where the store still has what was anchored, going
// on under another name would only hide that nothing is lost; and where it has something else than was signed, a notice
// that calls it restored would be false. Both are told from the entries alone, all of them, at every size that anybody
// has signed: streams/parting.ts, which answers for those who write nothing, is content with the largest.

import type { DatabaseSync, StatementSync } from 'node:sqlite';
import {
  CompactRange,
  CONTENT_AT,
  ENTRY_BYTES,
  epochGenesisHash,
  equalBytes,
  EvidenceError,
  formatCheckpoint,
  KINDS,
  leafHash,
  parseCheckpoint,
  parseNote,
  PREVIOUS_AT,
  readLink,
  toBase64,
} from '@tallystick/evidence';
import type { TenantId } from '@tallystick/contract';
import type { AnchoredHead } from '../../streams/anchor.ts';
import type { EpochRequest, EpochResult } from '../../streams/log.ts';
import type { Parting } from '../../streams/parting.ts';
import { TenantFault } from '../pool/tenant-fault.ts';
import { textIn } from '../rows/columns.ts';
import type { NumberedHead } from './heads.ts';
import { makeNotice, type OwnNoticesOptions } from '../pool/own-notices.ts';
import type { StreamWriter } from '../pool/stream-writer.ts';
import { type LogPlace, TreeTables } from './tree-tables.ts';

export interface EpochWriterOptions extends OwnNoticesOptions {
  readonly logOrigin: string;
}

/** So many entries are read at once. */
const LOT = 10_000;

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

  /** In the transaction in which the head was read. */
  begin({ tenant, anchored, history = [] }: EpochRequest, head: NumberedHead, nowMs: number): EpochResult {
    const log = this.#trees.log(tenant);
    const ended = this.#trees.epochOf(tenant, anchored.origin);
    if (log === undefined || ended === undefined) return { status: 'Unknown' };
    const entries = head.nextIndex - log.firstIndex;
    if (ended < log.epoch) return { status: 'NotNeeded' };
    const parting = this.#parting(tenant, [...history, anchored], head.nextIndex);
    if (parting !== undefined) return { status: 'OtherHistory', ...parting };
    if (ended === log.epoch && entries >= anchored.size) return { status: 'NotNeeded' };
    this.#requireChain(tenant, log, entries);
    const restoredSize = ended === log.epoch ? entries : 0;
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

  /** The first size, from the newest log back, at which one is not what was anchored or what its checkpoints say. */
  #parting(tenant: TenantId, anchored: readonly AnchoredHead[], nextIndex: number): Parting | undefined {
    let endIndex = nextIndex;
    for (let log = this.#trees.log(tenant); log !== undefined; ) {
      const { origin, firstIndex } = log;
      const remembered = anchored.filter((head) => head.origin === origin);
      const signed = this.#signed(tenant, log);
      const parting = this.#partingOf(log, [...remembered, ...signed], endIndex - firstIndex);
      if (parting !== undefined) return parting;
      endIndex = firstIndex;
      log = firstIndex === 0 ? undefined : this.#trees.log(tenant, firstIndex - 1);
    }
    return undefined;
  }

  /** From the entries alone: the hashes of tiles are there only as far as it was signed, and anybody's. */
  #partingOf(log: LogPlace, heads: readonly AnchoredHead[], entries: number): Parting | undefined {
    const ascending = heads.filter(({ size }) => size > 0 && size <= entries).sort((a, b) => a.size - b.size);
    const range = new CompactRange();
    for (const head of ascending) {
      const root = this.#grow(range, log, head.size) ? range.root() : undefined;
      if (root !== undefined && equalBytes(root, head.root)) continue;
      return { origin: head.origin, size: head.size, signedRoot: head.root, root };
    }
    return undefined;
  }

  /** False where an entry is missing: then there is no root. */
  #grow(range: CompactRange, log: LogPlace, size: number): boolean {
    while (range.size < size) {
      const wanted = Math.min(LOT, size - range.size);
      const lot = this.#trees.entries(log, range.size, wanted);
      if (lot.length < wanted) return false;
      for (const { entry } of lot) range.append(leafHash(entry));
    }
    return true;
  }

  /** What lies behind the newest head hangs on the chain alone: without it no notice may call it restored. */
  #requireChain(tenantId: TenantId, log: LogPlace, entries: number): void {
    let previous = log.genesis;
    for (let index = 0; index < entries; ) {
      const lot = this.#trees.entries(log, index, Math.min(LOT, entries - index));
      for (const { entry, leaf } of lot) {
        const hash = leafHash(entry);
        const isNext = isLink(entry, index, previous) && equalBytes(hash, leaf);
        if (!isNext) throw new TenantFault(tenantId, `its entry ${index} is missing, or not what was hashed`);
        previous = hash;
        index++;
      }
      if (lot.length === 0) throw new TenantFault(tenantId, `its entry ${index} is missing`);
    }
  }

  #signed(tenantId: TenantId, { tenant, epoch, origin }: LogPlace): AnchoredHead[] {
    return this.#notes.all(tenant, epoch).map((row) => {
      const head = headIn(textIn(row, 'note'));
      if (head?.origin === origin && head.size === Number(row['size'])) return head;
      throw new TenantFault(
        tenantId,
        `the checkpoint that is stored for size ${String(row['size'])} of ${origin} is none of it`,
      );
    });
  }
}

function isLink(entry: Uint8Array, index: number, previous: Uint8Array): boolean {
  if (entry.length !== ENTRY_BYTES || readLink(entry, 0).index !== index) return false;
  return equalBytes(entry.subarray(PREVIOUS_AT, CONTENT_AT), previous);
}

/** Undefined for one that cannot be read. */
function headIn(note: string): AnchoredHead | undefined {
  try {
    return parseCheckpoint(parseNote(note).text);
  } catch (error) {
    if (error instanceof EvidenceError) return undefined;
    throw error;
  }
}
