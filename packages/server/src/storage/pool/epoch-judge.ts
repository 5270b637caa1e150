// Goes on openly after a restore: a new log under a new origin, whose genesis and first entry name the checkpoint that
// was anchored last. Here it is judged whether that is called for: where the store still has what was anchored, going
// on under another name would only hide that nothing is lost; and where it has something else than was signed, a notice
// that calls it restored would be false. Both are told from the entries alone, all of them, at every size that anybody
// has signed: streams/anchor/divergence.ts, which answers for those who write nothing, is content with the largest.
//
// What has to be read is yielded, and comes back from whoever reads, be it at once or later: one judge for every backend.

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
export interface JudgedLog {
  readonly epoch: number;
  readonly origin: string;
  readonly firstIndex: number;
  readonly genesis: Uint8Array;
}

/** A log by an index that it holds, that which is written to where there is none; entries of it; checkpoints of it. */
export type EpochRead =
  | { readonly verb: 'Log'; readonly index: number | undefined }
  | { readonly verb: 'Entries'; readonly log: JudgedLog; readonly index: number; readonly count: number }
  | { readonly verb: 'Notes'; readonly log: JudgedLog };

export interface ReadEntry {
  readonly entry: Uint8Array;
  readonly leaf: Uint8Array;
}

export interface ReadCheckpoint {
  readonly size: number;
  readonly note: string;
}

type Judging<T> = Generator<EpochRead, T, unknown>;

/** The log that is to begin. */
export interface NewEpoch {
  readonly status: 'Needed';
  readonly epoch: number;
  readonly origin: string;
  /** The text of the checkpoint that was anchored last. */
  readonly text: string;
  readonly restoredSize: number;
}

export type EpochVerdict = Exclude<EpochResult, { status: 'Begun' }> | NewEpoch;

/** So many entries are read at once. */
const LOT = 10_000;

/** In the transaction in which the head was read. Throws TenantFault. */
export function* judgeEpoch(
  { tenant, anchored, history = [] }: EpochRequest,
  head: Head,
  logOrigin: string,
): Judging<EpochVerdict> {
  const log = yield* logAt(undefined);
  const ended = epochOf(tenant, anchored.origin, logOrigin);
  if (log === undefined || ended === undefined) return { status: 'Unknown' };
  const entries = head.nextIndex - log.firstIndex;
  if (ended < log.epoch) return { status: 'NotNeeded' };
  const divergence = yield* divergenceInAll(tenant, log, [...history, anchored], head.nextIndex);
  if (divergence !== undefined) return { status: 'OtherHistory', ...divergence };
  if (ended === log.epoch && entries >= anchored.size) return { status: 'NotNeeded' };
  yield* requireChain(tenant, log, entries);
  // Also those epochs are over that the store has never heard of.
  const epoch = Math.max(log.epoch, ended) + 1;
  return {
    status: 'Needed',
    epoch,
    origin: originOf({ tenant, epoch }, logOrigin),
    text: formatCheckpoint(anchored),
    restoredSize: ended === log.epoch ? entries : 0,
  };
}

/** Puts the notice that the log begins with, once the row of the epoch is put. */
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

// Whoever reads gives what was asked for, so these casts only repeat it.

function* logAt(index: number | undefined): Judging<JudgedLog | undefined> {
  return (yield { verb: 'Log', index }) as JudgedLog | undefined;
}

function* entriesOf(log: JudgedLog, index: number, count: number): Judging<readonly ReadEntry[]> {
  return (yield { verb: 'Entries', log, index, count }) as readonly ReadEntry[];
}

/** The first size, from the newest log back, at which one is not what was anchored or what its checkpoints say. */
function* divergenceInAll(
  tenant: TenantId,
  newest: JudgedLog,
  anchored: readonly AnchoredHead[],
  nextIndex: number,
): Judging<Divergence | undefined> {
  let endIndex = nextIndex;
  for (let log: JudgedLog | undefined = newest; log !== undefined; ) {
    const { origin, firstIndex }: JudgedLog = log;
    const remembered = anchored.filter((head) => head.origin === origin);
    const signed = yield* signedOf(tenant, log);
    const divergence = yield* divergenceIn(log, [...remembered, ...signed], endIndex - firstIndex);
    if (divergence !== undefined) return divergence;
    endIndex = firstIndex;
    log = firstIndex === 0 ? undefined : yield* logAt(firstIndex - 1);
  }
  return undefined;
}

/** From the entries alone: the hashes of tiles are there only as far as it was signed, and anybody's. */
function* divergenceIn(
  log: JudgedLog,
  heads: readonly AnchoredHead[],
  entries: number,
): Judging<Divergence | undefined> {
  const ascending = heads.filter(({ size }) => size > 0 && size <= entries).sort((a, b) => a.size - b.size);
  const range = new CompactRange();
  for (const head of ascending) {
    const root = (yield* grow(range, log, head.size)) ? range.root() : undefined;
    if (root !== undefined && equalBytes(root, head.root)) continue;
    return { origin: head.origin, size: head.size, signedRoot: head.root, root };
  }
  return undefined;
}

/** False where an entry is missing: then there is no root. */
function* grow(range: CompactRange, log: JudgedLog, size: number): Judging<boolean> {
  while (range.size < size) {
    const wanted = Math.min(LOT, size - range.size);
    const lot = yield* entriesOf(log, range.size, wanted);
    if (lot.length < wanted) return false;
    for (const { entry } of lot) range.append(leafHash(entry));
  }
  return true;
}

/** What lies behind the newest head hangs on the chain alone: without it no notice may call it restored. */
function* requireChain(tenantId: TenantId, log: JudgedLog, entries: number): Judging<void> {
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

function* signedOf(tenantId: TenantId, log: JudgedLog): Judging<AnchoredHead[]> {
  const notes = (yield { verb: 'Notes', log }) as readonly ReadCheckpoint[];
  return notes.map(({ size, note }) => {
    const head = headIn(note);
    if (head?.origin === log.origin && head.size === size) return head;
    throw new TenantFault(
      tenantId,
      `the checkpoint that is stored for size ${size} of ${log.origin} is none of it`,
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

/** Undefined for one that cannot be read. */
function headIn(note: string): AnchoredHead | undefined {
  try {
    return parseCheckpoint(parseNote(note).text);
  } catch (error) {
    if (error instanceof EvidenceError) return undefined;
    throw error;
  }
}
