// Which versions of settings and policies were in force where in a tenant's log, from its notices. A log is read from its beginning
// once for each process, and then what has come; of a change only its place and its commitment are kept.

import type { TenantId } from '@tallystick/contract';
import type { Signing } from '../keys/signing.ts';
import { PastDecisions } from '../policies/past-decisions.ts';
import { commitmentOfRecord } from '../records/record-macs.ts';
import type { RecordKind, RecordReader, StoredRecord } from '../records/records.ts';
import type { RecordNotice, UnprovenEntry } from '../streams/removal/proven.ts';
import type { IndexSpan } from '../streams/removal/removal.ts';
import type { TreesWith } from '../streams/tree.ts';

export interface HistoryParts {
  readonly trees: TreesWith<'recordNotices'>;
  readonly records: Pick<RecordReader, 'forOwner'>;
  readonly signing: Pick<Signing, 'publicKeys'>;
  /** Called once for each entry that differs from the signed one. */
  readonly onUnproven: (tenant: TenantId, entry: UnprovenEntry) => void;
}

interface Change extends RecordNotice {
  readonly version: number;
}

/** Logs that were read; the least recently used one is forgotten. */
const TENANTS_MAX = 1000;

export class RecordHistories {
  readonly #parts: HistoryParts;
  readonly #histories = new Map<TenantId, RecordHistory>();

  constructor(parts: HistoryParts) {
    this.#parts = parts;
  }

  of(tenant: TenantId): RecordHistory {
    const history = this.#histories.get(tenant) ?? new RecordHistory(tenant, this.#parts);
    this.#histories.delete(tenant);
    this.#histories.set(tenant, history);
    const [oldest] = this.#histories.keys();
    if (this.#histories.size > TENANTS_MAX) this.#histories.delete(oldest!);
    return history;
  }
}

/** Of one tenant; one caller at a time. */
export class RecordHistory {
  readonly #tenant: TenantId;
  readonly #parts: HistoryParts;
  readonly #changes: Change[] = [];
  readonly #versions = new Map<string, number>();
  /** All before it was read. */
  #nextIndex = 0;
  #past = new PastDecisions();
  /** The changes that `past` knows. */
  #known = 0;

  constructor(tenant: TenantId, parts: HistoryParts) {
    this.#tenant = tenant;
    this.#parts = parts;
  }

  /** Reads up to an index that is signed. */
  async readTo(endIndex: number, pause: () => Promise<void> | undefined): Promise<void> {
    const { trees, signing, onUnproven } = this.#parts;
    for (let isEnd = false; !isEnd && this.#nextIndex < endIndex; ) {
      const request = { fromIndex: this.#nextIndex, publicKeys: signing.publicKeys() };
      const portion = await trees.forTenant(this.#tenant).recordNotices(request);
      for (const notice of portion.notices) this.#add(notice);
      for (const entry of portion.unproven) onUnproven(this.#tenant, entry);
      this.#nextIndex = portion.nextIndex;
      isEnd = portion.isEnd;
      await pause();
    }
  }

  /** What was in force for the event at this index, which `readTo` has reached; a promise where records are to be read for it. */
  at(index: number): PastDecisions | Promise<PastDecisions> {
    const last = this.#changes[this.#known - 1];
    if (last !== undefined && last.index >= index) [this.#past, this.#known] = [new PastDecisions(), 0];
    const next = this.#changes[this.#known];
    return next !== undefined && next.index < index ? this.#advanced(index) : this.#past;
  }

  /**
   * Whether nothing that may have decided about the events of this span has asked about their texts. `readTo` has reached them, and none
   * was received before `sinceMs`.
   */
  async asksNothing({ firstIndex, endIndex }: IndexSpan, sinceMs: number): Promise<boolean> {
    const past = await this.at(firstIndex);
    const next = this.#changes[this.#known];
    return past.asksNothing(sinceMs) && (next === undefined || next.index >= endIndex);
  }

  #add(notice: RecordNotice): void {
    if (!this.#past.isAbout(notice.kind)) return;
    const name = `${notice.kind} ${notice.id}`;
    const version = (this.#versions.get(name) ?? 0) + 1;
    this.#versions.set(name, version);
    this.#changes.push({ ...notice, version });
  }

  async #advanced(index: number): Promise<PastDecisions> {
    for (;;) {
      const change = this.#changes[this.#known];
      if (change === undefined || change.index >= index) return this.#past;
      this.#past.changed(change, await this.#recordOf(change), change.receivedAtMs);
      this.#known++;
    }
  }

  /** As its notice commits to it. */
  async #recordOf({ kind, id, version, commitment }: Change): Promise<StoredRecord | undefined> {
    if (commitment === undefined) return undefined;
    const records = this.#parts.records.forOwner(this.#tenant);
    const found =
      (await records.past(kind as RecordKind, id, version)) ?? (await records.find(kind as RecordKind, id));
    return found?.version === version && commitmentOfRecord(found) === commitment ? found : undefined;
  }
}
