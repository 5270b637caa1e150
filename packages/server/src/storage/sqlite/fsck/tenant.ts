// All that is stored of one tenant: its log, or its logs where it went on after restores, each under its own origin.

import type { DatabaseSync } from 'node:sqlite';
import { epochGenesisHash, genesisHash, originOf, parseCheckpoint } from '@tallystick/evidence';
import type { AnchoredHead } from '../../../streams/anchor.ts';
import { WalkDesk } from '../../fsck/entries.ts';
import { fault } from '../../fsck/store-fault.ts';
import { LogCheck, type LogCounts, type LogFacts } from './log.ts';
import type { TrustedKey } from '../../fsck/notes.ts';
import type { RememberedHead } from './remembered-head.ts';
import { FIRST_INTEGER, LAST_INTEGER, LogRows } from './rows.ts';
import { StreamRows } from './streams.ts';
import { type EpochRow, TreeRows } from './tree-rows.ts';

export interface StoredTenant {
  readonly tenant: number;
  readonly tenantId: string;
}

/** What is remembered of logs outside of the store, by origin. */
export interface Memory {
  heads(origin: string): readonly RememberedHead[];
  /** Undefined: the anchor is not compared. */
  anchoredSize(origin: string): number | undefined;
}

export interface TenantParts {
  readonly db: DatabaseSync;
  readonly desk: WalkDesk;
  readonly logOrigin: string;
  readonly keys: readonly TrustedKey[];
  readonly memory: Memory;
}

export interface CheckedLog extends LogCounts {
  readonly origin: string;
}

export interface TenantResult {
  readonly streams: number;
  /** The heads that its logs say they go on from. */
  readonly named: readonly AnchoredHead[];
}

/** One statement each, for all tenants in turn. */
export class TenantCheck {
  readonly #parts: TenantParts;
  readonly #rows: LogRows;
  readonly #tree: TreeRows;

  constructor(parts: TenantParts) {
    this.#parts = parts;
    this.#rows = new LogRows(parts.db);
    this.#tree = new TreeRows(parts.db);
  }

  /**
   * Yields how many entries were looked at, and adds every log that it comes to; throws EvidenceError at the first that
   * does not fit. `logs` says then how far it came.
   */
  *run(stored: StoredTenant, logs: CheckedLog[]): Generator<number, TenantResult> {
    const { db, desk, keys } = this.#parts;
    const { tenant } = stored;
    const epochs = this.#tree.epochs(tenant);
    this.#requireEpochs(tenant, epochs);
    const streams = new StreamRows(db, tenant);
    const parts = { desk, tree: this.#tree, streams, keys };
    for (let log = 0; log <= epochs.length; log++) {
      const facts = this.#factsOf(stored, epochs, log, logs.at(-1)?.entries ?? 0);
      const check = new LogCheck(parts, facts);
      logs.push(Object.assign(check.counts, { origin: facts.place.origin }));
      const first = log === 0 ? FIRST_INTEGER : facts.place.firstIndex;
      const last = log === epochs.length ? LAST_INTEGER : epochs[log]!.firstIndex - 1;
      for (const rows of this.#rows.lots(tenant, first, last)) {
        check.take(rows);
        yield rows.length;
      }
      check.end();
    }
    const entries = logs.reduce((sum, log) => sum + log.entries, 0);
    if (desk.checks.has('streams')) streams.end(entries);
    const named = epochs.map(({ previousCheckpoint }) => parseCheckpoint(previousCheckpoint));
    return { streams: streams.count, named };
  }

  /** Numbers may be left out: those of logs that a restore has lost. */
  #requireEpochs(tenant: number, epochs: readonly EpochRow[]): void {
    let before = { epoch: 0, firstIndex: 0 };
    for (const row of epochs) {
      if (row.epoch <= before.epoch || row.firstIndex < before.firstIndex)
        throw fault('INDEX_MISMATCH', `epoch ${row.epoch}, from ${row.firstIndex} on, is out of order`);
      before = row;
    }
    const known = new Set([0, ...epochs.map(({ epoch }) => epoch)]);
    for (const epoch of this.#tree.epochsNamed(tenant)) {
      if (!known.has(epoch))
        throw fault(
          'ORIGIN_MISMATCH',
          `there are checkpoints or tiles of an epoch ${epoch}, and no such log`,
        );
    }
  }

  #factsOf(
    { tenant, tenantId }: StoredTenant,
    epochs: readonly EpochRow[],
    log: number,
    entriesBefore: number,
  ): LogFacts {
    const { logOrigin, memory } = this.#parts;
    const nameOf = (epoch: number) => originOf({ tenant: tenantId, epoch }, logOrigin);
    const own = epochs[log - 1];
    const { epoch, firstIndex } = own ?? { epoch: 0, firstIndex: 0 };
    const origin = nameOf(epoch);
    const genesis =
      own === undefined ? genesisHash(origin) : epochGenesisHash(origin, own.previousCheckpoint);
    const isNextToBefore = (epochs[log - 2]?.epoch ?? 0) === epoch - 1;
    return {
      place: { tenant, epoch, origin, firstIndex, genesis },
      beginning: own && {
        previousCheckpoint: own.previousCheckpoint,
        previousOrigin: nameOf(epoch - 1),
        previousEntries: isNextToBefore ? entriesBefore : undefined,
      },
      next: epochs[log],
      heads: memory.heads(origin),
      anchoredSize: memory.anchoredSize(origin),
    };
  }
}
