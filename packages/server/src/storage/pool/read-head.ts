// Builds the head of a log from its stored rows. A log whose newest entries do not match their hashes, or whose open
// stream contradicts the entries, is not continued: its new entries could not be proven.

import type { StreamId, TenantId } from '@tallystick/contract';
import { decodeEntry, type Entry, equalBytes, EvidenceError, KINDS, leafHash } from '@tallystick/evidence';
import type { Head, OpenStream } from './head.ts';
import { TenantFault } from './tenant-fault.ts';

/** The current log of a tenant's sequence. */
export interface WrittenLog {
  readonly origin: string;
  /** Of its first entry, in the tenant's sequence. */
  readonly firstIndex: number;
  /** The hash that its first entry links to. */
  readonly genesis: Uint8Array;
}

/** An entry as it is stored. */
export interface EntryAt {
  readonly index: number;
  readonly entry: Uint8Array;
  readonly leaf: Uint8Array;
}

export interface StoredHead {
  readonly tenantId: TenantId;
  readonly log: WrittenLog;
  /** Undefined where there is none. */
  readonly newest: EntryAt | undefined;
  /** The newest one. */
  readonly stream: { readonly streamId: StreamId; readonly firstIndex: number } | undefined;
  /** Called for the first entry of the stream, and for the previous one. */
  readonly entryAt: (index: number) => EntryAt | undefined;
}

/** Throws TenantFault. */
export function readHead(stored: StoredHead): Head {
  const { tenantId, log, newest } = stored;
  const { firstIndex: logFirstIndex, genesis: previous } = log;
  if (newest === undefined)
    return { tenantId, logFirstIndex, nextIndex: 0, previous, receivedAtMs: 0, stream: undefined };
  const { receivedAtMs } = hashedEntry(tenantId, newest, logFirstIndex);
  const nextIndex = newest.index + 1;
  const stream = openStream(stored, nextIndex);
  return { tenantId, logFirstIndex, nextIndex, previous: newest.leaf, receivedAtMs, stream };
}

/** The first stream of a log after a restore follows an unsealed one: a seal would belong to another log. */
function openStream({ tenantId, log, stream, entryAt }: StoredHead, nextIndex: number): OpenStream {
  if (stream === undefined) throw new TenantFault(tenantId, 'it has entries and no stream');
  const { streamId, firstIndex } = stream;
  const refuse = (why: string) => new TenantFault(tenantId, `its stream ${streamId} ${why}`);
  const hashedAt = (index: number) => {
    const found = entryAt(index);
    if (found === undefined) throw refuse(`is at ${firstIndex}, where the log is not`);
    return hashedEntry(tenantId, found, log.firstIndex);
  };
  if (firstIndex < log.firstIndex) throw refuse(`is of the log before ${log.origin}`);
  if (firstIndex > log.firstIndex && hashedAt(firstIndex - 1).kind !== KINDS.streamSeal) {
    throw refuse('follows upon one that is not sealed');
  }
  const firstReceivedAtMs = firstIndex === nextIndex ? undefined : hashedAt(firstIndex).receivedAtMs;
  return { streamId, firstIndex, firstReceivedAtMs };
}

function hashedEntry(tenantId: TenantId, { index, entry, leaf }: EntryAt, logFirstIndex: number): Entry {
  const decoded = decodedOrNone(entry);
  if (decoded?.index !== index - logFirstIndex || !equalBytes(leafHash(entry), leaf))
    throw new TenantFault(tenantId, `its entry ${index} is not what was hashed`);
  return decoded;
}

function decodedOrNone(bytes: Uint8Array): Entry | undefined {
  try {
    return decodeEntry(bytes);
  } catch (error) {
    if (error instanceof EvidenceError) return undefined;
    throw error;
  }
}
