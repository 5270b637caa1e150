// Checks all stored data of one tenant: its log, or its logs if it continued after restores, each under its own origin.

import { epochGenesisHash, genesisHash, originOf, parseCheckpoint } from '@tallystick/evidence';
import type { AnchoredHead } from '../../streams/anchor/anchor.ts';
import type { Deletion, RedactedEvent } from '../../streams/removal/removal.ts';
import { awaited, type Resumable } from '../resumable.ts';
import type { PastHolds } from '../../holds/past-holds.ts';
import { type DecidedBefore, DecisionCheck } from './decisions.ts';
import { HeldCheck } from './held.ts';
import { NotedDeletions, NotedRedactions } from './deletions.ts';
import type { WalkResources } from './entries.ts';
import { LogCheck, type LogCounts, type LogFacts } from './log.ts';
import type { TrustedKey } from './notes.ts';
import type { RememberedHead } from './remembered-head.ts';
import { fault } from './store-fault.ts';
import { NotedRecords } from './records.ts';
import type { Keyring } from '../sealing/keyring.ts';
import type { StoredKey } from '../sealing/provide-keys.ts';
import { StoredKeys } from './keys.ts';
import type { EpochRow, RecordReference, StoredRows, TenantRow } from './stored-rows.ts';
import { StreamRows } from './streams.ts';

/** Heads that are remembered outside the store, by origin. */
export interface Memory {
  heads(origin: string): readonly RememberedHead[];
  /** Undefined: the anchor is not compared. */
  anchoredSize(origin: string): number | undefined;
}

export interface TenantParts<Tenant> {
  readonly store: StoredRows<Tenant>;
  readonly resources: WalkResources;
  readonly logOrigin: string;
  readonly keys: readonly TrustedKey[];
  readonly memory: Memory;
  /** Undefined: there is none. */
  readonly ring?: Keyring | undefined;
  readonly newDecisions: () => DecidedBefore;
  readonly newHolds: () => PastHolds;
}

export interface CheckedLog extends LogCounts {
  readonly origin: string;
}

export interface TenantResult {
  readonly streams: number;
  /** The heads that its logs say they continue from. */
  readonly named: readonly AnchoredHead[];
}

const RECORDS_AT_ONCE = 1000;
const DELETIONS_AT_ONCE = 1000;
const KEYS_AT_ONCE = 1000;

export class TenantCheck<Tenant> {
  readonly #parts: TenantParts<Tenant>;

  constructor(parts: TenantParts<Tenant>) {
    this.#parts = parts;
  }

  /**
   * Yields the number of checked entries, and adds every log that it reaches to `logs`, which shows the progress when
   * it throws EvidenceError at the first fault.
   */
  *run(stored: TenantRow<Tenant>, logs: CheckedLog[]): Resumable<TenantResult, number> {
    const { store, resources, keys } = this.#parts;
    const { tenant } = stored;
    const epochs = yield* awaited(store.epochs(tenant));
    yield* this.#requireEpochs(tenant, epochs);
    const streams = new StreamRows((after, limit) => store.streams(tenant, after, limit));
    const records = new NotedRecords();
    const deletions = new NotedDeletions();
    const redactions = new NotedRedactions();
    const decisions = new DecisionCheck(store, tenant, this.#parts.newDecisions());
    const held = new HeldCheck(store, tenant, this.#parts.newHolds());
    const noted = { records, deletions, redactions, decisions, held };
    const parts = { resources, tree: store, streams, ...noted, keys };
    let leaf: Uint8Array | undefined;
    for (let log = 0; log <= epochs.length; log++) {
      const facts = this.#factsOf(stored, epochs, log, logs.at(-1)?.entries ?? 0);
      const check = new LogCheck(parts, facts);
      logs.push(Object.assign(check.counts, { origin: facts.place.origin }));
      yield* check.begin();
      const { next } = facts;
      const last = next && next.firstIndex - 1;
      for (let first = log === 0 ? undefined : facts.place.firstIndex; ; ) {
        const rows = yield* awaited(store.lot(tenant, first, last));
        if (rows.length === 0) break;
        yield* check.take(rows);
        yield rows.length;
        first = rows.at(-1)!.sequenceIndex + 1;
      }
      yield* check.end();
      leaf = check.lastLeaf ?? leaf;
    }
    const nextIndex = logs.reduce((sum, log) => sum + log.entries, 0);
    if (resources.checks.has('streams')) yield* streams.end(nextIndex);
    if (resources.checks.has('deletions')) yield* this.#requireRemovals(tenant, deletions, redactions);
    if (resources.checks.has('records')) yield* this.#requireRecords(tenant, records);
    if (resources.checks.has('keys')) yield* this.#requireKeys(stored);
    if (resources.checks.has('decisions')) yield* decisions.end();
    if (resources.checks.has('heads')) yield* awaited(store.requireEnd(tenant, { nextIndex, leaf }));
    const named = epochs.map(({ previousCheckpoint }) => parseCheckpoint(previousCheckpoint));
    return { streams: streams.count, named };
  }

  *#requireRecords(tenant: Tenant, noted: NotedRecords): Resumable<void> {
    for (let last: RecordReference | undefined; ; ) {
      const portion = yield* awaited(this.#parts.store.records(tenant, last, RECORDS_AT_ONCE));
      if (portion.length === 0) break;
      for (const record of portion) {
        if (record.isPast) noted.requirePast(record);
        else noted.require(record);
      }
      last = portion.at(-1);
    }
    noted.end();
  }

  *#requireKeys({ tenant, tenantId }: TenantRow<Tenant>): Resumable<void> {
    const keys = new StoredKeys(tenantId, this.#parts.ring);
    for (let last: StoredKey | undefined; ; ) {
      const portion = yield* awaited(this.#parts.store.keys(tenant, last, KEYS_AT_ONCE));
      if (portion.length === 0) return;
      for (const key of portion) keys.require(key);
      last = portion.at(-1);
    }
  }

  *#requireRemovals(
    tenant: Tenant,
    noted: NotedDeletions,
    notedRedactions: NotedRedactions,
  ): Resumable<void> {
    for (let last: Deletion | undefined; ; ) {
      const portion = yield* awaited(
        this.#parts.store.deletions(tenant, last?.firstIndex, DELETIONS_AT_ONCE),
      );
      if (portion.length === 0) break;
      for (const deletion of portion) noted.require(deletion);
      last = portion.at(-1);
    }
    noted.end();
    for (let last: RedactedEvent | undefined; ; ) {
      const portion = yield* awaited(this.#parts.store.redactions(tenant, last, DELETIONS_AT_ONCE));
      if (portion.length === 0) break;
      for (const redaction of portion) notedRedactions.require(redaction);
      last = portion.at(-1);
    }
    notedRedactions.end();
  }

  /** Numbers may be missing: those of logs that a restore has lost. */
  *#requireEpochs(tenant: Tenant, epochs: readonly EpochRow[]): Resumable<void> {
    let before = { epoch: 0, firstIndex: 0 };
    for (const row of epochs) {
      if (row.epoch <= before.epoch || row.firstIndex < before.firstIndex)
        throw fault('INDEX_MISMATCH', `epoch ${row.epoch}, from ${row.firstIndex} on, is out of order`);
      before = row;
    }
    const known = new Set([0, ...epochs.map(({ epoch }) => epoch)]);
    for (const epoch of yield* awaited(this.#parts.store.epochsNamed(tenant))) {
      if (!known.has(epoch))
        throw fault(
          'ORIGIN_MISMATCH',
          `there are checkpoints or tiles of an epoch ${epoch}, and no such log`,
        );
    }
  }

  #factsOf(
    { tenant, tenantId }: TenantRow<Tenant>,
    epochs: readonly EpochRow[],
    log: number,
    entriesBefore: number,
  ): LogFacts<Tenant> {
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
