// What the log says of the records that decide what is held: holds and policies. Each change of one is told by a notice, in one
// commit with it, so these records are exactly those that the notices tell of, each in its newest version. A row that somebody has
// taken out of the database, or put back to an older version, is found by that before anything is decided without it: its MAC
// tells nothing of it. What was read once stays known while the process runs, since a log only grows.

import type { TenantId } from '@tallystick/contract';
import { decodeEntry, KINDS, parseJson } from '@tallystick/evidence';
import { KeyedQueue } from '../runtime/turns.ts';
import type { LogReader, StoredEvent } from '../streams/log.ts';
import type { RecordKind } from './records.ts';

/** The kinds of which every change is told by a notice of its own kind. */
export type NotedKind = Extract<RecordKind, 'LegalHold' | 'Policy'>;

/** What the notices of a tenant's log say of one kind of records. */
export interface NotedVersions {
  /** Notices of this index and behind it were not there yet. */
  readonly endIndex: number;
  /** By the id of the record. */
  readonly newest: ReadonlyMap<string, Noted>;
}

interface Noted {
  /** How many notices tell of it: each of one version. */
  readonly version: number;
  /** To the newest version. */
  readonly commitment: string;
}

/** As of now. */
export type ReadNoted = (tenant: TenantId, kind: NotedKind) => Promise<NotedVersions>;

interface Known {
  readonly endIndex: number;
  readonly newest: Readonly<Record<NotedKind, NotedVersions['newest']>>;
}

const NOTHING: Known = { endIndex: 0, newest: { LegalHold: new Map(), Policy: new Map() } };
const TENANTS_KEPT_MAX = 1000;
const READ_AT_ONCE = 500;

export function createReadNoted(log: Pick<LogReader, 'forTenant'>): ReadNoted {
  const kept = new Map<TenantId, Known>();
  const turns = new KeyedQueue();
  return (tenant, kind) =>
    turns.take(tenant, async () => {
      let known = kept.get(tenant) ?? NOTHING;
      let isReadable = true;
      for (;;) {
        const notices = await log.forTenant(tenant).holdNotices(known.endIndex, READ_AT_ONCE);
        if (notices.length > 0) known = withMore(known, notices);
        // One that cannot be read may be put right.
        isReadable &&= !notices.some(isUnreadable);
        if (isReadable) keep(kept, tenant, known);
        if (notices.length < READ_AT_ONCE) return { ...known, newest: known.newest[kind] };
      }
    });
}

function keep(kept: Map<TenantId, Known>, tenant: TenantId, known: Known): void {
  if (kept.size >= TENANTS_KEPT_MAX && !kept.has(tenant)) kept.clear();
  kept.set(tenant, known);
}

function withMore({ newest }: Known, notices: readonly StoredEvent[]): Known {
  const more = { LegalHold: new Map(newest.LegalHold), Policy: new Map(newest.Policy) };
  for (const notice of notices) {
    const { kind, id, commitment } = saidIn(notice);
    // One without a commitment tells of no change of a record.
    if (commitment === undefined) continue;
    more[kind].set(id, { version: (more[kind].get(id)?.version ?? 0) + 1, commitment });
  }
  return { endIndex: notices.at(-1)!.index + 1, newest: more };
}

function isUnreadable({ content }: StoredEvent): boolean {
  return content === undefined || !('texts' in content);
}

interface Payload {
  readonly holdId: string;
  readonly policyId: string;
  readonly commitment?: string;
}

function saidIn({ index, entry, content }: StoredEvent) {
  const kind: NotedKind = decodeEntry(entry).kind === KINDS.legalHold ? 'LegalHold' : 'Policy';
  // There is no such record, so the records differ.
  if (content === undefined || !('texts' in content))
    return { kind, id: `of the notice at index ${index}, which cannot be read,`, commitment: '' };
  // The text is the one that was hashed, and the service has written it.
  const { payload } = parseJson(content.texts[1]) as { readonly payload: Payload };
  return {
    kind,
    id: kind === 'LegalHold' ? payload.holdId : payload.policyId,
    commitment: payload.commitment,
  };
}

/** A record with the commitment to it. */
export type CommittedVersion = Noted & { readonly id: string };

/** The id of one that is not as its notices say, of which none tells, or that is missing. */
export function differingId(
  there: Iterable<CommittedVersion>,
  { newest }: NotedVersions,
): string | undefined {
  const ids = new Set<string>();
  for (const { id, version, commitment } of there) {
    const said = newest.get(id);
    if (said?.version !== version || said.commitment !== commitment) return id;
    ids.add(id);
  }
  return [...newest.keys()].find((id) => !ids.has(id));
}
