// Decides whether a log may continue openly after a restore: in a new log under a new origin, whose genesis and first
// entry name the last anchored checkpoint. If the store still has the anchored entries, a new origin would only hide
// that nothing is lost. If it has other entries than the signed ones, a notice that calls it restored would be false.
// Both are decided from the entries alone, all of them, at every signed size; streams/anchor/divergence.ts, which only
// reads, checks just the largest.
//
// Reads are yielded and resumed with their results, at once or later, so that one rule serves every backend.

import type { TenantId } from '@tallystick/contract';
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
  logNamed,
  originOf,
  parseCheckpoint,
  parseNote,
  PREVIOUS_AT,
  readLink,
  toBase64,
} from '@tallystick/evidence';
import type { AnchoredHead } from '../../streams/anchor/anchor.ts';
import type { EpochRequest, EpochResult } from '../../streams/log.ts';
import type { Divergence } from '../../streams/anchor/divergence.ts';
import type { Head } from './head.ts';
import { makeNotice, type OwnNoticesOptions } from './own-notices.ts';
import type { StreamWriter } from './stream-writer.ts';
import { TenantFault } from './tenant-fault.ts';

/** One log of a tenant. */
export interface EpochLog {
  readonly epoch: number;
  readonly origin: string;
  readonly firstIndex: number;
  readonly genesis: Uint8Array;
}

/** Reads a log by an index that it holds (the current log without one), its entries, or its checkpoints. */
export type EpochRead =
  | { readonly verb: 'Log'; readonly index: number | undefined }
  | { readonly verb: 'Entries'; readonly log: EpochLog; readonly index: number; readonly count: number }
  | { readonly verb: 'Notes'; readonly log: EpochLog };

export interface ReadEntry {
  readonly entry: Uint8Array;
  readonly leaf: Uint8Array;
}

export interface ReadCheckpoint {
  readonly size: number;
  readonly note: string;
}

type Deciding<T> = Generator<EpochRead, T, unknown>;

/** The log that must begin. */
export interface NewEpoch {
  readonly status: 'Needed';
  readonly epoch: number;
  readonly origin: string;
  /** The text of the last anchored checkpoint. */
  readonly text: string;
  readonly restoredSize: number;
}

export type EpochVerdict = Exclude<EpochResult, { status: 'Begun' }> | NewEpoch;

/** The number of entries per read. */
const LOT = 10_000;

/** Runs in the transaction in which the head was read. Throws TenantFault. */
export function* decideEpoch(
  { tenant, anchored, history = [] }: EpochRequest,
  head: Head,
  logOrigin: string,
): Deciding<EpochVerdict> {
  const log = yield* logAt(undefined);
  const ended = epochOf(tenant, anchored.origin, logOrigin);
  if (log === undefined || ended === undefined) return { status: 'Unknown' };
  const entries = head.nextIndex - log.firstIndex;
  if (ended < log.epoch) return { status: 'NotNeeded' };
  const divergence = yield* divergenceInAll(tenant, log, [...history, anchored], head.nextIndex);
  if (divergence !== undefined) return { status: 'OtherHistory', ...divergence };
  if (ended === log.epoch && entries >= anchored.size) return { status: 'NotNeeded' };
  yield* requireChain(tenant, log, entries);
  // Epochs that the store does not know have ended, too.
  const epoch = Math.max(log.epoch, ended) + 1;
  return {
    status: 'Needed',
    epoch,
    origin: originOf({ tenant, epoch }, logOrigin),
    text: formatCheckpoint(anchored),
    restoredSize: ended === log.epoch ? entries : 0,
  };
}

/** Writes the first notice of the log, after the row of the epoch. */
export function beginLog<H extends Head>(
  { origin, text, restoredSize }: NewEpoch,
  { anchored }: EpochRequest,
  head: H,
  streams: StreamWriter<H>,
  options: OwnNoticesOptions,
  nowMs: number,
): EpochResult {
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
    options,
  );
  return { status: 'Begun', origin, restoredSize, notice: streams.begin(notice, head, nowMs) };
}

// The reader returns what was requested, so these casts are safe.

function* logAt(index: number | undefined): Deciding<EpochLog | undefined> {
  return (yield { verb: 'Log', index }) as EpochLog | undefined;
}

function* entriesOf(log: EpochLog, index: number, count: number): Deciding<readonly ReadEntry[]> {
  return (yield { verb: 'Entries', log, index, count }) as readonly ReadEntry[];
}

/** The first size, from the newest log back, at which a log differs from its anchored heads or checkpoints. */
function* divergenceInAll(
  tenant: TenantId,
  newest: EpochLog,
  anchored: readonly AnchoredHead[],
  nextIndex: number,
): Deciding<Divergence | undefined> {
  let endIndex = nextIndex;
  for (let log: EpochLog | undefined = newest; log !== undefined; ) {
    const { origin, firstIndex }: EpochLog = log;
    const remembered = anchored.filter((head) => head.origin === origin);
    const signed = yield* signedOf(tenant, log);
    const divergence = yield* divergenceIn(log, [...remembered, ...signed], endIndex - firstIndex);
    if (divergence !== undefined) return divergence;
    endIndex = firstIndex;
    log = firstIndex === 0 ? undefined : yield* logAt(firstIndex - 1);
  }
  return undefined;
}

/** Uses the entries alone: tile hashes exist only up to the signed size, and an intruder could have written them. */
function* divergenceIn(
  log: EpochLog,
  heads: readonly AnchoredHead[],
  entries: number,
): Deciding<Divergence | undefined> {
  const ascending = heads.filter(({ size }) => size > 0 && size <= entries).sort((a, b) => a.size - b.size);
  const range = new CompactRange();
  for (const head of ascending) {
    const root = (yield* grow(range, log, head.size)) ? range.root() : undefined;
    if (root !== undefined && equalBytes(root, head.root)) continue;
    return { origin: head.origin, size: head.size, signedRoot: head.root, root };
  }
  return undefined;
}

/** False if an entry is missing: then there is no root. */
function* grow(range: CompactRange, log: EpochLog, size: number): Deciding<boolean> {
  while (range.size < size) {
    const wanted = Math.min(LOT, size - range.size);
    const lot = yield* entriesOf(log, range.size, wanted);
    if (lot.length < wanted) return false;
    for (const { entry } of lot) range.append(leafHash(entry));
  }
  return true;
}

/** Only the chain covers entries after the newest head: without it no notice may call them restored. */
function* requireChain(tenantId: TenantId, log: EpochLog, entries: number): Deciding<void> {
  let previous = log.genesis;
  for (let index = 0; index < entries; ) {
    const lot = yield* entriesOf(log, index, Math.min(LOT, entries - index));
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

function* signedOf(tenantId: TenantId, log: EpochLog): Deciding<AnchoredHead[]> {
  const notes = (yield { verb: 'Notes', log }) as readonly ReadCheckpoint[];
  return notes.map(({ size, note }) => {
    const head = headIn(note);
    if (head?.origin === log.origin && head.size === size) return head;
    throw new TenantFault(
      tenantId,
      `the checkpoint that is stored for size ${size} of ${log.origin} belongs to another log or size`,
    );
  });
}

/** Undefined for a name that none of the tenant's logs can have. */
function epochOf(tenantId: TenantId, origin: string, logOrigin: string): number | undefined {
  const named = logNamed(origin, logOrigin);
  return named?.tenant === tenantId ? named.epoch : undefined;
}

function isLink(entry: Uint8Array, index: number, previous: Uint8Array): boolean {
  if (entry.length !== ENTRY_BYTES || readLink(entry, 0).index !== index) return false;
  return equalBytes(entry.subarray(PREVIOUS_AT, CONTENT_AT), previous);
}

/** Undefined for an unreadable one. */
function headIn(note: string): AnchoredHead | undefined {
  try {
    return parseCheckpoint(parseNote(note).text);
  } catch (error) {
    if (error instanceof EvidenceError) return undefined;
    throw error;
  }
}
