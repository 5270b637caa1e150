// A pool of append requests as one message. The writer hashes and stores the text bytes directly from it.

import type { Duration, EventId, OperationName, TenantId } from '@tallystick/contract';
import { type Kind, KINDS, parseJson } from '@tallystick/evidence';
import type { RecordKind, StoredRecord } from '../../records/records.ts';
import type { RepeatClearance } from '../../repeats.ts';
import type { CausedJob } from '../../work/jobs.ts';
import type { AppendRequest, AppendTime, Draft, Once } from '../../streams/log.ts';
import type { TextBytes } from './commitments.ts';
import { ByteReader, ByteWriter } from './byte-message.ts';
import { CLASSIFICATIONS, classificationAt } from '../rows/classification-column.ts';

/** An AppendRequest as the writer gets it: texts are slices of the message. */
export interface PooledRequest {
  readonly tenant: TenantId;
  readonly atomic: boolean;
  readonly once: Once | undefined;
  readonly clearance: RepeatClearance;
  readonly drafts: readonly PooledDraft[];
  readonly records: readonly StoredRecord[];
  readonly jobs: readonly CausedJob[];
  readonly holdsAsOf: string | undefined;
}

export interface PooledDraft {
  readonly kind: Kind;
  readonly eventId: EventId;
  readonly texts: TextBytes;
  /** The index in CLASSIFICATIONS. */
  readonly classification: number;
  readonly retention: Duration | undefined;
  readonly decidedBy: string | undefined;
  readonly sentFingerprint: Uint8Array | undefined;
}

export interface AppendPool {
  readonly requests: readonly PooledRequest[];
  readonly now: AppendTime;
}

const ATOMIC = 1;
const ONCE = 2;
const RECORDS = 4;
const JOBS = 8;
const HOLDS = 16;
const RETENTION = 1;
const FINGERPRINT = 2;
const SAME_RETENTION = 4;
const DECIDED = 8;
const SAME_DECIDED = 16;
const NO_CLEARANCE = 255;
const NAMED = 1;
const LOOKED_UP = 2;
const kinds: readonly number[] = Object.values(KINDS);

export function encodePool(
  requests: readonly AppendRequest[],
  now: AppendTime,
  room?: ArrayBuffer,
): ArrayBuffer {
  const out = new ByteWriter(bytesOf(requests), room);
  out.f64(now.nowMs);
  out.f64(now.steadyNowMs);
  out.u32(requests.length);
  let before: Draft | undefined;
  for (const request of requests) {
    const {
      tenant,
      atomic,
      once,
      clearance = 'Public',
      drafts,
      records = [],
      jobs = [],
      holdsAsOf,
    } = request;
    out.text(tenant);
    const causes = (records.length === 0 ? 0 : RECORDS) | (jobs.length === 0 ? 0 : JOBS);
    const guards = (once === undefined ? 0 : ONCE) | (holdsAsOf === undefined ? 0 : HOLDS);
    out.u8((atomic ? ATOMIC : 0) | guards | causes);
    out.u8(clearance === 'None' ? NO_CLEARANCE : CLASSIFICATIONS.indexOf(clearance));
    if (once !== undefined) writeOnce(out, once);
    out.u32(drafts.length);
    for (const draft of drafts) {
      writeDraft(out, draft, before);
      before = draft;
    }
    if (records.length > 0) writeRecords(out, records);
    // Few, and seldom: they need no form of their own.
    if (jobs.length > 0) out.text(JSON.stringify(jobs));
    if (holdsAsOf !== undefined) out.text(holdsAsOf);
  }
  return out.buffer;
}

/** For ids, keys and numbers. */
const DRAFT_BYTES = 160;

/** An estimate of the message size: growing it later would copy megabytes. */
function bytesOf(requests: readonly AppendRequest[]): number {
  let bytes = 0;
  for (const { drafts } of requests) {
    for (const { texts } of drafts) bytes += texts[0].length + texts[1].length + DRAFT_BYTES;
  }
  return bytes;
}

export function decodePool(buffer: ArrayBuffer): AppendPool {
  const message = new ByteReader(buffer);
  const now = { nowMs: message.f64(), steadyNowMs: message.f64() };
  let before: PooledDraft | undefined;
  const requests = listOf(message, (): PooledRequest => {
    const tenant = message.text();
    const flags = message.u8();
    const cleared = message.u8();
    const once = (flags & ONCE) === 0 ? undefined : readOnce(message);
    return {
      tenant,
      atomic: (flags & ATOMIC) !== 0,
      once,
      clearance: cleared === NO_CLEARANCE ? 'None' : classificationAt(cleared),
      drafts: listOf(message, () => (before = readDraft(message, before))),
      records: (flags & RECORDS) === 0 ? [] : listOf(message, () => readRecord(message)),
      jobs: (flags & JOBS) === 0 ? [] : (parseJson(message.text()) as readonly CausedJob[]),
      holdsAsOf: (flags & HOLDS) === 0 ? undefined : message.text(),
    };
  });
  return { requests, now };
}

function writeOnce(out: ByteWriter, once: Once): void {
  out.text(once.operation);
  out.text(once.key);
  out.bytes(once.fingerprint);
  out.u8(CLASSIFICATIONS.indexOf(once.classification));
  out.f64(once.expiresAtMs);
  out.text(once.note);
}

function readOnce(message: ByteReader): Once {
  return {
    // Written by writeOnce from an Once.
    operation: message.text() as OperationName,
    key: message.text(),
    fingerprint: message.bytes(),
    classification: classificationAt(message.u8()),
    expiresAtMs: message.f64(),
    note: message.text(),
  };
}

/** Most drafts have the retention of the previous one, and were decided alike: a text is only written if it differs. */
function writeDraft(out: ByteWriter, draft: Draft, before: Draft | undefined): void {
  const { retention, decidedBy, sentFingerprint } = draft;
  const isSame = retention !== undefined && retention === before?.retention;
  const isDecidedAlike = decidedBy !== undefined && decidedBy === before?.decidedBy;
  const flag =
    (retention === undefined ? 0 : isSame ? SAME_RETENTION : RETENTION) |
    (decidedBy === undefined ? 0 : isDecidedAlike ? SAME_DECIDED : DECIDED);
  out.u8(draft.kind);
  out.u8(CLASSIFICATIONS.indexOf(draft.classification));
  out.u8(flag | (sentFingerprint === undefined ? 0 : FINGERPRINT));
  if (retention !== undefined && !isSame) out.text(retention);
  if (decidedBy !== undefined && !isDecidedAlike) out.text(decidedBy);
  if (sentFingerprint !== undefined) out.bytes(sentFingerprint);
  out.text(draft.eventId);
  out.bytes(draft.texts[0]);
  out.bytes(draft.texts[1]);
}

function readDraft(message: ByteReader, before: PooledDraft | undefined): PooledDraft {
  const kind = message.u8();
  if (!isKind(kind)) throw new Error(`a message has a draft of kind ${kind}`);
  const classification = message.u8();
  const flags = message.u8();
  return {
    kind,
    classification,
    retention:
      (flags & RETENTION) !== 0
        ? message.text()
        : (flags & SAME_RETENTION) !== 0
          ? before?.retention
          : undefined,
    decidedBy:
      (flags & DECIDED) !== 0 ? message.text() : (flags & SAME_DECIDED) !== 0 ? before?.decidedBy : undefined,
    sentFingerprint: (flags & FINGERPRINT) === 0 ? undefined : message.bytes(),
    eventId: message.text(),
    texts: [message.bytes(), message.bytes()],
  };
}

function writeRecords(out: ByteWriter, records: readonly StoredRecord[]): void {
  out.u32(records.length);
  for (const { owner, kind, id, version, body, state, uniqueName, lookup, salt, mac } of records) {
    for (const text of [owner, kind, id, body, state]) out.text(text);
    out.f64(version);
    out.u8((uniqueName === undefined ? 0 : NAMED) | (lookup === undefined ? 0 : LOOKED_UP));
    if (uniqueName !== undefined) out.text(uniqueName);
    if (lookup !== undefined) out.bytes(lookup);
    out.bytes(salt);
    out.bytes(mac);
  }
}

function readRecord(message: ByteReader): StoredRecord {
  const [owner, kind] = [message.text(), message.text() as RecordKind];
  const [id, body, state] = [message.text(), message.text(), message.text()];
  const version = message.f64();
  const flags = message.u8();
  return {
    owner,
    kind,
    id,
    version,
    body,
    state,
    uniqueName: (flags & NAMED) === 0 ? undefined : message.text(),
    lookup: (flags & LOOKED_UP) === 0 ? undefined : message.bytes(),
    salt: message.bytes(),
    mac: message.bytes(),
  };
}

function isKind(kind: number): kind is Kind {
  return kinds.includes(kind);
}

function listOf<T>(message: ByteReader, read: () => T): T[] {
  const count = message.u32();
  const list: T[] = [];
  for (let i = 0; i < count; i++) list.push(read());
  return list;
}
