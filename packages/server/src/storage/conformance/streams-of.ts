// Checks a tenant's log as streams, by comparing all reads of the same data: rows behind the port, entries, notices,
// and the streams and events of the port.

import assert from 'node:assert/strict';
import { CLASSIFICATIONS, type TenantId } from '@tallystick/contract';
import {
  decodeEntry,
  type Entry,
  genesisHash,
  KINDS,
  type NoticePayload,
  openEvent,
  parseJson,
  readNotice,
} from '@tallystick/evidence';
import type { StoredStream, StreamLimits } from '../../streams/log.ts';
import type { Storage } from '../storage.ts';
import { type LogRow, openWith, type TestInstallation } from './claims.ts';
import { recompute } from './log-chain.ts';

const ORIGIN = 'audit.example.com';
export const NEWEST = { before: undefined };
const FAR = Number.MAX_SAFE_INTEGER;

/** The number of events of a stream without its seal notice, and the cause of the seal; undefined: it is open. */
export type Shape = [events: number, cause: string | undefined];

/** All streams of a tenant's log, oldest first. */
export async function shapesOf(
  place: TestInstallation,
  storage: Storage,
  tenant: TenantId,
): Promise<Shape[]> {
  const log = storage.log.forTenant(tenant);
  const streams = await log.streams({ after: undefined }, FAR);
  const rows = await place.rows(tenant);
  assert.equal(recompute(rows, tenant, ORIGIN), rows.length);
  assert.equal(await log.streamCount(), streams.length);
  const shapes: Shape[] = [];
  let endIndex = 0;
  for (const [i, stream] of streams.entries()) {
    assert.equal(stream.firstIndex, endIndex, 'a stream begins where the one before ends');
    assert.equal(stream.previousStreamId, streams[i - 1]?.streamId);
    assert.deepEqual(await log.stream(stream.streamId), stream);
    endIndex = stream.endIndex;
    const own = rows.slice(stream.firstIndex, endIndex);
    demandHashes(stream, own, rows[stream.firstIndex - 1]?.leaf ?? genesisHash(`${ORIGIN}/t/${tenant}`));
    await demandEvents(storage, tenant, stream, own);
    const cause = demandSeal(stream, streams[i + 1], own);
    shapes.push([cause === undefined ? own.length : own.length - 1, cause]);
  }
  assert.equal(endIndex, rows.length, 'the last stream ends with the log');
  return shapes;
}

export async function openLimited(
  place: TestInstallation,
  streams: Partial<StreamLimits>,
  ...tenants: TenantId[]
): Promise<Storage> {
  return openWith({ ...place, open: () => place.open(streams) }, ...tenants);
}

export async function openStreamOf(storage: Storage, tenant: TenantId): Promise<StoredStream> {
  const [newest] = await storage.log.forTenant(tenant).streams(NEWEST, 1);
  assert.ok(newest);
  assert.equal(newest.sealedAtMs, undefined);
  return newest;
}

function demandHashes(stream: StoredStream, own: readonly LogRow[], genesis: Uint8Array): void {
  assert.deepEqual(stream.genesis, genesis);
  assert.deepEqual(stream.head, own.at(-1)?.leaf ?? genesis);
  const [first] = own;
  if (first !== undefined) assert.deepEqual(decodeEntry(first.entry).previous, genesis);
}

/** The events of a stream, by page and one by one, match its rows and name their stream. */
async function demandEvents(
  storage: Storage,
  tenant: TenantId,
  { streamId, firstIndex, endIndex }: StoredStream,
  own: readonly LogRow[],
): Promise<void> {
  const log = storage.log.forTenant(tenant);
  const page = await log.events(firstIndex, endIndex, FAR);
  assert.deepEqual(
    page.map(({ index, entry, leaf }) => ({ index, entry, leaf })),
    own.map(({ index, entry, leaf }) => ({ index, entry, leaf })),
  );
  for (const event of page) {
    assert.equal(event.streamId, streamId);
    assert.deepEqual(await log.event(decodeEntry(event.entry).eventId, CLASSIFICATIONS), event);
  }
}

/** A sealed stream ends with its seal notice and has no other; an open one has none. */
function demandSeal(
  stream: StoredStream,
  next: StoredStream | undefined,
  own: readonly LogRow[],
): string | undefined {
  const seals = own.filter(({ entry }) => decodeEntry(entry).kind === KINDS.streamSeal);
  if (next === undefined) {
    assert.deepEqual([seals.length, stream.sealedAtMs], [0, undefined]);
    return undefined;
  }
  assert.deepEqual(seals, own.slice(-1));
  assert.ok(own.length > 1, 'there was something in it');
  const entry = decodeEntry(own.at(-1)!.entry);
  const { cause, ...payload } = sealPayload(entry, own.at(-1)!);
  assert.deepEqual(payload, {
    streamId: stream.streamId,
    nextStreamId: next.streamId,
    firstIndex: stream.firstIndex,
    lastIndex: stream.endIndex - 1,
  });
  assert.equal(stream.sealedAtMs, entry.receivedAtMs);
  assert.equal(next.createdAtMs, entry.receivedAtMs);
  return cause;
}

function sealPayload(entry: Entry, { texts }: LogRow): NoticePayload<typeof KINDS.streamSeal> {
  const groups = texts.map((text) => parseJson(Buffer.from(text).toString()) as Record<string, unknown>);
  const shown = openEvent({ ...groups[0], ...groups[1] }, () => new Uint8Array(16));
  const notice = readNotice(entry, shown);
  assert.equal(notice.kind, KINDS.streamSeal);
  return { ...notice.payload };
}
