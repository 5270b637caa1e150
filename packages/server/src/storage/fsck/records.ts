// Compares the records of a tenant with the notices of its log: the newest notice of a record commits to its contents.

import { commitmentOf, KINDS, type Notice, parseJson, toBase64, toHex } from '@tallystick/evidence';
import type { RecordKind, StoredRecord } from '../../records/records.ts';
import { awaited, type Resumable } from '../resumable.ts';
import { fault } from './store-fault.ts';
import type { StoredRows } from './stored-rows.ts';

interface Noted {
  /** In base64. */
  readonly commitment: string;
  /** The index of the notice in its log. */
  readonly index: number;
}

/** The version of a record that a notice tells of. */
export interface NotedVersion {
  readonly kind: string;
  readonly id: string;
  readonly version: number;
  /** In base64. */
  readonly commitment: string;
}

/** The commitments in the notices of a tenant's logs, by name of the record. */
export class NotedRecords {
  /** One of each version, from the first; undefined where a record was found for it. */
  readonly #noted = new Map<string, (Noted | undefined)[]>();
  /** Each version has its own salt, so no two commitments are equal. */
  readonly #commitments = new Set<string>();

  /** Throws EvidenceError if a notice repeats an earlier commitment, which shows that a record was put back. */
  notice(notice: Notice): NotedVersion | undefined {
    const said = recordNamedIn(notice);
    if (said === undefined) return undefined;
    const { kind, id, commitment } = said;
    if (this.#commitments.has(commitment))
      throw fault(
        'NOTICE_INVALID',
        `the notice at index ${notice.index} commits to an earlier version of ${nameOf(kind, id)}`,
        notice.index,
      );
    this.#commitments.add(commitment);
    const name = nameOf(kind, id);
    const versions = this.#noted.get(name) ?? [];
    versions.push({ commitment, index: notice.index });
    this.#noted.set(name, versions);
    return { ...said, version: versions.length };
  }

  /** Called once per record; throws EvidenceError. */
  require({ kind, id, body, salt, ...copies }: Omit<StoredRecord, 'owner' | 'mac'>): void {
    const name = nameOf(kind, id);
    const versions = this.#noted.get(name) ?? [];
    const noted = versions.at(-1);
    if (noted === undefined)
      throw fault('LEAF_MISMATCH', `no notice tells of ${name}: the row was inserted by hand`);
    versions[versions.length - 1] = undefined;
    if (!isCommittedTo(noted, { salt, body }) || !areCopies(body, copies))
      throw fault(
        'LEAF_MISMATCH',
        `${name} is not what its newest notice, at index ${noted.index}, commits to`,
        noted.index,
      );
    // An older version, or one of another store, was put back and then changed.
    if (versions.length !== copies.version)
      throw fault(
        'LEAF_MISMATCH',
        `${name} has version ${copies.version}, and ${versions.length} notices tell of it`,
        noted.index,
      );
  }

  /** Called once per version before the current one; throws EvidenceError. */
  requirePast({ kind, id, body, salt, version, ...copies }: Omit<StoredRecord, 'owner' | 'mac'>): void {
    const name = `version ${version} of ${nameOf(kind, id)}`;
    const versions = this.#noted.get(nameOf(kind, id)) ?? [];
    const noted = version < versions.length ? versions[version - 1] : undefined;
    if (noted === undefined)
      throw fault('LEAF_MISMATCH', `no notice tells of ${name}: the row was inserted by hand`);
    versions[version - 1] = undefined;
    if (!isCommittedTo(noted, { salt, body }) || !areCopies(body, { version, ...copies }))
      throw fault(
        'LEAF_MISMATCH',
        `${name} is not what its notice, at index ${noted.index}, commits to`,
        noted.index,
      );
  }

  /** Called after the last record; throws EvidenceError if one is missing. */
  end(): void {
    for (const [name, versions] of this.#noted) {
      // The current one before those of the past.
      // Of other kinds no past versions were kept before policies came: those that are there are compared, and none is missed.
      const isWhole = KEPT_WHOLE.some((kind) => name.startsWith(`${nameOf(kind, '')} `));
      const at = versions.findLastIndex(
        (noted, i) => noted !== undefined && (isWhole || i === versions.length - 1),
      );
      if (at < 0) continue;
      const { index } = versions[at]!;
      const which = at === versions.length - 1 ? name : `version ${at + 1} of ${name}`;
      throw fault('TRUNCATED', `${which} that the notice at index ${index} tells of is gone`, index);
    }
  }
}

/** The kinds of which every version is kept. */
const KEPT_WHOLE: readonly RecordKind[] = ['LegalHold', 'Policy'];

export interface NamedRecord {
  readonly kind: string;
  readonly id: string;
  readonly commitment: string;
}

/** Which records the acts of kind 9 are about, where they are not about keys. */
const RECORDS_BY_ACT: Readonly<Record<string, RecordKind>> = {
  ExportRequested: 'Export',
  ExportRetried: 'Export',
  ExportCompleted: 'Export',
  ExportFailed: 'Export',
  ExportDeleted: 'Export',
  ExportDeliveryRequested: 'Export',
  ExportDeliveryRetried: 'Export',
  ExportDelivered: 'Export',
  ExportDeliveryFailed: 'Export',
  ExportScheduleCreated: 'ExportSchedule',
  ExportScheduleUpdated: 'ExportSchedule',
  ExportScheduleRun: 'ExportSchedule',
  ExportScheduleDeleted: 'ExportSchedule',
  ErasureRequested: 'Erasure',
  ErasureConfirmed: 'Erasure',
  ErasureHeld: 'Erasure',
  ErasureCompleted: 'Erasure',
  RedactionRequested: 'PendingRedaction',
  RedactionConfirmed: 'PendingRedaction',
  SubscriptionCreated: 'Subscription',
  SubscriptionUpdated: 'Subscription',
  SubscriptionPaused: 'Subscription',
  SubscriptionResumed: 'Subscription',
  SubscriptionSecretRotated: 'Subscription',
  SubscriptionDeleted: 'Subscription',
};

/** Undefined for a notice that names no record. */
export function recordNamedIn({ kind, payload }: Notice): NamedRecord | undefined {
  if (kind === KINDS.policyChange)
    return { kind: 'Policy', id: payload.policyId, commitment: payload.commitment };
  if (kind !== KINDS.legalHold && kind !== KINDS.administration) return undefined;
  const { commitment } = payload;
  if (commitment === undefined) return undefined;
  if (kind === KINDS.legalHold) return { kind: 'LegalHold', id: payload.holdId, commitment };
  const [id] = payload.subjectIds;
  // Without a subject it concerns the tenant itself.
  if (id === undefined) return { kind: 'Tenant', id: '', commitment };
  return { kind: RECORDS_BY_ACT[payload.act] ?? 'ApiKey', id, commitment };
}

/** Whether the columns match the body. */
function areCopies(
  body: string,
  { version, state, uniqueName, lookup }: Pick<StoredRecord, 'version' | 'state' | 'uniqueName' | 'lookup'>,
): boolean {
  const content = parseJson(body) as Readonly<Record<string, unknown>>;
  return (
    content['version'] === version &&
    content['state'] === state &&
    content['uniqueName'] === uniqueName &&
    content['lookup'] === (lookup && toHex(lookup))
  );
}

/** The version that a notice tells of; undefined where it is not stored, or is not what the notice commits to. */
export function* storedVersion<Tenant>(
  store: Pick<StoredRows<Tenant>, 'records'>,
  tenant: Tenant,
  noted: NotedVersion,
): Resumable<StoredRecord | undefined> {
  const { kind, id, version } = noted;
  const before = { kind: kind as RecordKind, id, version: version - 1, isPast: true };
  const [found] = yield* awaited(store.records(tenant, before, 1));
  const isIt = found?.kind === kind && found.id === id && found.version === version;
  return isIt && isCommittedTo(noted, found) ? found : undefined;
}

function isCommittedTo(
  { commitment }: Pick<NotedVersion, 'commitment'>,
  { salt, body }: Pick<StoredRecord, 'salt' | 'body'>,
): boolean {
  return toBase64(commitmentOf(salt, body)) === commitment;
}

function nameOf(kind: string, id: string): string {
  return id === '' ? `the record ${kind}` : `the record ${kind} ${id}`;
}
