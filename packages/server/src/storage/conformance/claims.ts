// The promises of every backend, as named claims that run against a real one, and their tools: installations, drafts,
// and the rows behind the port for recomputation.

import { createUlids } from '../../runtime/ids.ts';
import { createSystemRandom } from '../../runtime/random.ts';
import { systemClock } from '../../runtime/clock.ts';
import { encodeEvent } from '@tallystick/evidence';
import type { ChangeRefusal } from '../../records/records.ts';
import type { TenantId } from '@tallystick/contract';
import type {
  AppendRequest,
  AppendResult,
  Draft,
  DraftOutcome,
  Once,
  Placed,
  StoredContent,
  StoredEvent,
  StreamLimits,
} from '../../streams/log.ts';
import type { Deletion, RedactedEvent } from '../../streams/removal/removal.ts';
import type { Storage } from '../storage.ts';

/** One installation of the backend under test; its data is kept until it is opened again. */
export interface TestInstallation {
  /** Uses STREAMS by default. */
  open(streams?: Partial<StreamLimits>): Promise<Storage>;
  /** The stored rows of a tenant's log by index, read without the code under test. */
  rows(tenant: TenantId): Promise<LogRow[]>;
  /** Removes the content of an event, as a purge does, but without a notice. */
  removeContent(tenant: TenantId, index: number): Promise<void>;
  /** Inserts a row without a notice, as an intruder would. */
  putDeletion(tenant: TenantId, deletion: Deletion): Promise<void>;
  /** Inserts a row without a notice, and removes one that has a notice, as an intruder would. */
  putRedaction(tenant: TenantId, redaction: RedactedEvent): Promise<void>;
  removeRedaction(tenant: TenantId, redaction: RedactedEvent): Promise<void>;
  /** Replaces the second text of an event, as an intruder would. */
  alterContent(tenant: TenantId, index: number, text: string): Promise<void>;
}

export interface LogRow {
  readonly index: number;
  readonly entry: Uint8Array;
  readonly leaf: Uint8Array;
  readonly roots: readonly [Uint8Array, Uint8Array];
  readonly texts: readonly [Uint8Array, Uint8Array];
  readonly seeds: readonly [Uint8Array, Uint8Array];
}

export type Claims = Readonly<Record<string, (place: TestInstallation) => Promise<void>>>;

/** The service's defaults. */
export const STREAMS: StreamLimits = { sealAfter: { ms: 86_400_000 }, sealAfterEvents: 1_000_000 };

export const NOW_MS = 1_767_323_046_000;
export const now = (nowMs = NOW_MS, steadyNowMs = nowMs) => ({ nowMs, steadyNowMs });

export const nextId = createUlids(systemClock, createSystemRandom());
const decoder = new TextDecoder();
const encoder = new TextEncoder();

export function draftOf(event: Readonly<Record<string, unknown>> = {}, more: Partial<Draft> = {}): Draft {
  const [one, two] = encodeEvent({ action: 'Delete.Invoice', outcome: 'Success', ...event });
  return {
    kind: 1,
    eventId: nextId(),
    texts: [one.bytes, two.bytes],
    classification: 'Internal',
    retention: 'PT1S',
    ...more,
  };
}

/** The texts of a draft as the reader of the log shows them. */
export function textsOf({ texts }: Draft): string[] {
  return texts.map((text) => decoder.decode(text));
}

/** Throws for a missing event, or one whose content is removed or does not match its hash. */
export function soundContent(stored: StoredEvent | undefined): StoredContent {
  const content = stored?.content;
  if (content === undefined) throw new Error('there is no content');
  if ('fault' in content) throw new Error(content.fault);
  if ('purgedAtMs' in content) throw new Error(`it is purged under notice ${content.noticeIndex}`);
  return content;
}

export function bytesOf(one: string, two: string): Draft['texts'] {
  return [encoder.encode(one), encoder.encode(two)];
}

export function request(
  tenant: TenantId,
  drafts: readonly Draft[],
  more: Partial<AppendRequest> = {},
): AppendRequest {
  return { tenant, drafts, atomic: false, ...more };
}

/** Depends on the content and on the sender. */
export function fingerprint(sent: number, caller = 1): Uint8Array {
  return new Uint8Array(64).fill(sent).fill(caller, 32);
}

export function once(key: string, more: Partial<Once> = {}): Once {
  return {
    operation: 'events.ingest',
    key,
    fingerprint: fingerprint(1),
    classification: 'Internal',
    expiresAtMs: NOW_MS + 86_400_000,
    note: `note of ${key}`,
    ...more,
  };
}

/** Opens a storage with these tenants. */
export async function openWith(place: TestInstallation, ...tenants: TenantId[]): Promise<Storage> {
  const storage = await place.open();
  for (const tenant of tenants) await storage.tenants.ensure(tenant, NOW_MS);
  return storage;
}

/** Appends a single request. */
export async function append(
  storage: Storage,
  one: AppendRequest,
  at = now(),
): Promise<AppendResult | ChangeRefusal> {
  const [result] = await storage.log.append([one], at);
  if (result === undefined) throw new Error('there is no result');
  if (result.status === 'Faulty') throw result.error;
  return result;
}

export function outcomesOf(result: { readonly status: string } | undefined): readonly DraftOutcome[] {
  if (result === undefined || !('outcomes' in result)) throw new Error(`result is ${result?.status}`);
  return result.outcomes as readonly DraftOutcome[];
}

export function placedIn(result: { readonly status: string } | undefined): Placed[] {
  return outcomesOf(result).map((outcome) => {
    if (!('index' in outcome)) throw new Error(`outcome is ${outcome.status}`);
    return outcome;
  });
}

export function statusesOf(result: { readonly status: string } | undefined): string[] {
  return outcomesOf(result).map(({ status }) => status);
}
