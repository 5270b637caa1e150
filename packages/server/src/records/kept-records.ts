// Keeps records that are read again and again for as long as they are current. A read first looks at the version of all
// records, unless it did so a moment ago; a record that this process changes is forgotten at once. A record that this
// installation has not made counts as missing.

import type { Clock } from '../runtime/clock.ts';
import { pauseForOthers } from '../runtime/pause.ts';
import type { RecordMacs } from './record-macs.ts';
import type { RecordReader, StoredRecord } from './records.ts';

export interface KeptRecordsParts {
  readonly reader: RecordReader;
  readonly macs: Pick<RecordMacs, 'isGenuine'>;
  /** Reads the keys again: another process may have made a MAC with a new one. */
  readonly reloadKeys: () => Promise<void>;
  readonly clock: Pick<Clock, 'monotonicNs'>;
  /** Called for a record that was not written by this service, or was altered, put back or removed. */
  readonly onForged: (record: NamedRecord) => void;
}

/** Also of one that is missing. */
export type NamedRecord = Pick<StoredRecord, 'owner' | 'kind' | 'id'>;

interface Look {
  /** When it expires, counted from its start. */
  readonly untilNs: number;
  readonly done: Promise<void>;
}

/** A MAC takes some 50 µs. */
const AT_ONCE_MAX = 50;

type Kept = Map<string, Promise<unknown>>;

export class KeptRecords {
  readonly #parts: KeptRecordsParts;
  /** Of one state of the store, or a newer one. */
  #kept: Kept = new Map();
  #version: unknown;
  #look: Look | undefined;
  #freshUntilNs = -Infinity;

  constructor(parts: KeptRecordsParts) {
    this.#parts = parts;
  }

  /**
   * The result of `read`, now or before. Only records that exist are kept, so strangers cannot fill the memory; calls for
   * a record that is being read wait for it.
   */
  get<T>(name: string, read: () => Promise<T | undefined>): Promise<T | undefined> {
    // Every request comes through here twice, so the usual one makes no promise of its own.
    const known = this.#parts.clock.monotonicNs() < this.#freshUntilNs ? this.#kept.get(name) : undefined;
    return (known as Promise<T | undefined> | undefined) ?? this.#getCurrent(name, read);
  }

  async #getCurrent<T>(name: string, read: () => Promise<T | undefined>): Promise<T | undefined> {
    await this.#lookForChanges();
    // One that is read now goes where it belongs, also when all is forgotten meanwhile.
    const kept = this.#kept;
    const known = kept.get(name) as Promise<T | undefined> | undefined;
    if (known !== undefined) return known;
    const asked = read();
    kept.set(name, asked);
    const dropUnless = (found: T | undefined) => {
      if (found === undefined && kept.get(name) === asked) kept.delete(name);
    };
    asked.then(dropUnless, () => dropUnless(undefined));
    return asked;
  }

  /** The record, if it is one of ours. */
  async genuine(record: StoredRecord | undefined): Promise<StoredRecord | undefined> {
    const { macs, reloadKeys, onForged } = this.#parts;
    if (record === undefined || macs.isGenuine(record)) return record;
    await reloadKeys();
    if (macs.isGenuine(record)) return record;
    onForged(record);
    return undefined;
  }

  report(record: NamedRecord): void {
    this.#parts.onForged(record);
  }

  async allGenuine(records: readonly StoredRecord[]): Promise<StoredRecord[]> {
    const found: StoredRecord[] = [];
    for (const [i, record] of records.entries()) {
      if (i > 0 && i % AT_ONCE_MAX === 0) await pauseForOthers();
      const genuine = await this.genuine(record);
      if (genuine !== undefined) found.push(genuine);
    }
    return found;
  }

  forget(): void {
    this.#kept = new Map();
  }

  /** Rejects when the version cannot be read, since nothing is known to hold then. */
  #lookForChanges(): Promise<void> {
    const nowNs = this.#parts.clock.monotonicNs();
    // The age counts from when it was asked, so one that takes long is not waited for by those who come late.
    if (this.#look === undefined || nowNs >= this.#look.untilNs) {
      const untilNs = nowNs + this.#parts.reader.freshMs() * 1e6;
      this.#look = { untilNs, done: this.#forgetOnChange(untilNs) };
    }
    return this.#look.done;
  }

  async #forgetOnChange(untilNs: number): Promise<void> {
    const found = await this.#parts.reader.version();
    if (found !== this.#version) this.forget();
    this.#version = found;
    this.#freshUntilNs = Math.max(untilNs, this.#freshUntilNs);
  }
}

/** Without keys, for callers that only list stored records. */
export const AS_THEY_ARE: Pick<KeptRecords, 'get' | 'genuine' | 'allGenuine'> = {
  get: (_, read) => read(),
  genuine: async (record) => record,
  allGenuine: async (records) => [...records],
};
