// The operations on streams: list, get, seal. The hash chain of a stream is shown under a checkpoint: that of its end
// if it is sealed, the newest if it is open. Before there is one, `checkpoint` is absent, `treeSize` is 0, and
// `rootHash` is that of the empty tree.

import { ok as assert } from 'node:assert/strict';
import {
  type Answer,
  AuditError,
  ERRORS,
  type EventStream,
  type InputOf,
  type StreamId,
} from '@tallystick/contract';
import { EMPTY_ROOT, parseCheckpoint, parseNote, toHex } from '@tallystick/evidence';
import { type Call, keyReused, type Received } from '../call.ts';
import { type Cursors, isIndex, readPage } from '../paging.ts';
import { UNCLASSIFIED } from '../repeats.ts';
import { instant } from '../runtime/clock.ts';
import { withDeadline } from '../runtime/deadline.ts';
import type { Telemetry } from '../telemetry.ts';
import type { LogReader, LogWriter, StoredStream, TenantLog } from './log.ts';
import { idempotencyNowMs, type IdempotencyTime, onceOf } from './append/idempotency-key.ts';
import { covering, type ProvableParts, requireSound } from './checkpoints/provable.ts';
import type { StoredCheckpoint } from './tree.ts';

export interface StreamOperationParts extends IdempotencyTime, ProvableParts {
  readonly log: LogReader & Pick<LogWriter, 'seal'>;
  readonly cursors: Cursors;
  readonly telemetry: Pick<Telemetry, 'error'>;
  /** The region of this installation; undefined if none is set. */
  readonly region: string | undefined;
}

type SealAnswer = Answer<'streams.seal'>;

/** The checkpoint of a stream's end usually comes within this time. */
const CHECKPOINT_MS_MAX = 2000;

export function createStreamOperations(parts: StreamOperationParts) {
  return {
    'streams.list': (call: Call, input: InputOf<'streams.list'>) => list(call, input, parts),
    'streams.get': async (
      call: Call,
      { streamId }: InputOf<'streams.get'>,
    ): Promise<Answer<'streams.get'>> => ({
      kind: 'Done',
      body: await shown(call, await streamOf(call, streamId, parts.log), parts),
    }),
    'streams.seal': {
      perform: (call: Call, { streamId }: InputOf<'streams.seal'>) => seal(call, streamId, parts),
      answerAgain: async (call: Call, received: Received): Promise<SealAnswer> =>
        sealed(call, String(received.input['streamId']), parts),
    },
  };
}

/** The stream with this id, if the tenant has it. */
export async function streamOf(call: Call, streamId: StreamId, log: LogReader): Promise<StoredStream> {
  const stream = await logOf(call, log)?.stream(streamId);
  if (stream === undefined) throw new AuditError('STREAM_NOT_FOUND', ERRORS.STREAM_NOT_FOUND.meaning);
  return stream;
}

/** A stream that contradicts the log is not shown: an intruder who changed its row would decide what is in it. */
export function requireSoundStream(
  { tenant, correlation: { requestId } }: Call,
  { streamId, fault }: StoredStream,
  telemetry: Pick<Telemetry, 'error'>,
): void {
  if (fault === undefined) return;
  const error = new Error(`the stream ${streamId} of ${tenant} is not what the log says: ${fault}`);
  telemetry.error('a stream is not what the log says', error, { tenant, streamId, requestId });
  throw error;
}

/** Undefined for an unknown tenant, which has no log. */
export function logOf({ tenant, tenantRecord }: Call, log: LogReader): TenantLog | undefined {
  return tenant === undefined || tenantRecord === undefined ? undefined : log.forTenant(tenant);
}

async function list(
  call: Call,
  input: InputOf<'streams.list'>,
  parts: StreamOperationParts,
): Promise<Answer<'streams.list'>> {
  const read = readPage(parts.cursors, call, input, isIndex);
  const log = logOf(call, parts.log);
  const all = log === undefined ? [] : await pageOf(log, input.status, read);
  const count = log === undefined ? 0 : await countOf(log, input.status);
  const page = read.page(all, ({ firstIndex }) => firstIndex, count);
  const data = await Promise.all(page.data.map((stream) => shown(call, stream, parts)));
  return { kind: 'Done', body: { ...page, data } };
}

type Statuses = InputOf<'streams.list'>['status'];

async function pageOf(
  log: TenantLog,
  status: Statuses,
  {
    direction,
    beyond,
    rowsMax,
  }: { direction: 'Next' | 'Previous'; beyond: number | undefined; rowsMax: number },
): Promise<StoredStream[]> {
  // The list is newest first.
  const from = direction === 'Next' ? { before: beyond } : { after: beyond };
  return log.streams(from, rowsMax, status);
}

async function countOf(log: TenantLog, status: Statuses): Promise<number> {
  const count = await log.streamCount();
  if (status === undefined) return count;
  // Exactly one stream is open, the newest.
  const open = Math.min(count, 1);
  const purged = await log.purgedStreamCount();
  const counts = { Open: open, Sealed: Math.max(0, count - open - purged), Purged: purged };
  return [...new Set(status)].reduce((sum, each) => sum + counts[each], 0);
}

async function seal(call: Call, streamId: StreamId, parts: StreamOperationParts): Promise<SealAnswer> {
  await streamOf(call, streamId, parts.log);
  const { tenant, tenantRecord } = call;
  assert(tenant !== undefined && tenantRecord !== undefined, 'a stream belongs to a tenant');
  requireSound(tenant, parts.checkpointer);
  const once = onceOf(call, tenantRecord, idempotencyNowMs(parts), UNCLASSIFIED);
  call.deadline.throwIfPassed();
  const now = { nowMs: parts.clock.now(), steadyNowMs: parts.steadyNowMs() };
  const { status } = await parts.log.seal({ tenant, streamId, once }, now);
  switch (status) {
    case 'Sealed':
    case 'Repeated':
      return sealed(call, streamId, parts);
    case 'KeyReused':
      throw keyReused();
    case 'Unknown':
      throw new AuditError('STREAM_NOT_FOUND', ERRORS.STREAM_NOT_FOUND.meaning);
    case 'SealedBefore':
      throw new AuditError('STREAM_SEALED', ERRORS.STREAM_SEALED.meaning);
    case 'Empty':
      throw new AuditError('STREAM_SEALED', 'The stream is empty: there is nothing in it to seal yet.');
  }
}

/** Includes the checkpoint of its end if that comes soon; the stream is sealed in any case. */
async function sealed(call: Call, streamId: StreamId, parts: StreamOperationParts): Promise<SealAnswer> {
  const { endIndex } = await streamOf(call, streamId, parts.log);
  const tooLate = () => new AuditError('SERVICE_UNAVAILABLE', 'No checkpoint covers the stream yet.');
  try {
    await withDeadline(parts.clock, CHECKPOINT_MS_MAX, tooLate, (deadline) =>
      covering({ ...call, deadline }, endIndex - 1, parts),
    );
  } catch (error) {
    if (!(error instanceof AuditError)) throw error;
  }
  return { kind: 'Done', body: await shown(call, await streamOf(call, streamId, parts.log), parts) };
}

async function shown(call: Call, stream: StoredStream, parts: StreamOperationParts): Promise<EventStream> {
  requireSoundStream(call, stream, parts.telemetry);
  const { tenant, tenantRecord } = call;
  assert(tenant !== undefined, 'a stream belongs to a tenant');
  const region = tenantRecord?.region ?? parts.region;
  const { firstIndex, endIndex, sealedAtMs, previousStreamId } = stream;
  const tree = await parts.trees.forTenant(tenant).tree(firstIndex);
  const isSealed = sealedAtMs !== undefined;
  const checkpoint = await (isSealed ? tree?.checkpoint(endIndex - tree.firstIndex) : tree?.latest());
  return {
    streamId: stream.streamId,
    tenantId: tenant,
    status: stream.isPurged ? 'Purged' : isSealed ? 'Sealed' : 'Open',
    metadata: region === undefined ? {} : { region },
    eventCount: endIndex - firstIndex,
    ...(endIndex > firstIndex ? { firstSequence: firstIndex + 1, lastSequence: endIndex } : {}),
    createdAt: instant(stream.createdAtMs),
    ...(isSealed ? { sealedAt: instant(sealedAtMs) } : {}),
    ...(previousStreamId === undefined ? {} : { previousStreamId }),
    hashChain: {
      algorithm: 'SHA-256',
      genesisHash: toHex(stream.genesis),
      headHash: toHex(stream.head),
      ...treeFacts(checkpoint),
    },
  };
}

function treeFacts(checkpoint: StoredCheckpoint | undefined) {
  if (checkpoint === undefined) return { treeSize: 0, rootHash: toHex(EMPTY_ROOT) };
  const { size, root } = parseCheckpoint(parseNote(checkpoint.note).text);
  return { treeSize: size, rootHash: toHex(root), checkpoint: checkpoint.note };
}
