// Tenants as the server knows them: what a backend keeps of each, and the settings that an operator has given it, which are
// a record. One without such a record has the usual settings.

import { type Classification, type Duration, TENANT_ID_PATTERN, type TenantId } from '@tallystick/contract';
import { INSTALLATION, parseJson } from '@tallystick/evidence';
import type { RowsRequest } from '../paging.ts';
import { ForgedRecord, type GenuineRecords } from '../records/genuine-records.ts';
import type { KeptRecords } from '../records/kept-records.ts';
import type { Holds } from '../holds/holds.ts';
import type { HoldRecord } from '../holds/hold.ts';
import type { Policies } from '../policies/policies.ts';
import type { PolicyRecord } from '../policies/policy.ts';
import type { StoredRecord } from '../records/records.ts';

export const TENANT_STATUSES = ['Active', 'Suspended', 'Closed'] as const;

export interface TenantSettings {
  readonly tier: 'Standard' | 'Premium';
  readonly region: string | undefined;
  readonly status: (typeof TENANT_STATUSES)[number];
  readonly defaultClassification: Classification;
  readonly defaultRetention: Duration;
  /** Whether the removal of content needs a second caller. */
  readonly fourEyes: boolean;
}

export interface TenantRecord extends TenantSettings {
  readonly tenantId: TenantId;
  /** The key of the HMACs by which repeated requests are recognised; never shown. */
  readonly fingerprintKey: Uint8Array;
  readonly createdAtMs: number;
  /** When its settings were changed last. */
  readonly updatedAtMs: number;
  /** Of its settings; 0 for the usual ones. */
  readonly version: number;
  /** Those that are active, by id. */
  readonly policies: readonly PolicyRecord[];
  /** Those that are active, by id: holds/hold-judge.ts asks them. */
  readonly holds: readonly HoldRecord[];
  /** Another text after every change of its holds or policies; a notice that removes content is held against it (streams/log.ts). */
  readonly holdsAsOf: string;
  /** A record of it is not one of this installation's: nobody knows its settings, policies or holds, and it is not served. */
  readonly isAltered?: boolean;
}

/** As a backend keeps it. */
export interface StoredTenant {
  readonly tenantId: TenantId;
  readonly fingerprintKey: Uint8Array;
  readonly createdAtMs: number;
  /** Also if all of them are deleted, or their rows are gone: only records and notices say so. */
  readonly hasPolicies: boolean;
  /** As for policies. */
  readonly hasHolds: boolean;
  /** Of the records as they were no later than when these facts were read. */
  readonly holdsAsOf: string;
  readonly settings: StoredRecord | undefined;
}

export interface TenantStore {
  find(tenantId: TenantId): Promise<StoredTenant | undefined>;
  /** The tenant, made if there is none. Many at once may share a commit. */
  ensure(tenantId: TenantId, nowMs: number): Promise<StoredTenant>;
  /** Destroys its key of fingerprints: nothing that was sent before is recognised. Returns the new one. */
  replaceFingerprintKey(tenantId: TenantId): Promise<Uint8Array>;
  /** By name, without the installation. */
  page(request: RowsRequest, states: readonly string[]): Promise<readonly StoredTenant[]>;
  /** How many there are, counted up to one more than a list's total is exact for. */
  count(states: readonly string[]): Promise<number>;
}

/** The reads that every call needs. */
export interface Tenants {
  find(tenantId: TenantId): Promise<TenantRecord | undefined>;
  ensure(tenantId: TenantId, nowMs: number): Promise<TenantRecord>;
  /** Of a tenant that is erased: this record of it has the new key. */
  withNewFingerprints(tenant: TenantRecord): Promise<TenantRecord>;
  page(request: RowsRequest, states: readonly string[]): Promise<readonly TenantRecord[]>;
  count(states: readonly string[]): Promise<number>;
  /** Those of which this process knows that a record was altered, put back or removed, if it still is. */
  altered(): Promise<readonly TenantId[]>;
}

/** Of one whose settings nobody has changed. */
export const USUAL_SETTINGS: TenantSettings = {
  tier: 'Standard',
  region: undefined,
  status: 'Active',
  defaultClassification: 'Internal',
  defaultRetention: 'P7Y',
  fourEyes: false,
};

const UNTRUSTED: TenantSettings = { ...USUAL_SETTINGS, status: 'Suspended' };

export function createTenants(
  store: TenantStore,
  kept: KeptRecords,
  { policies, holds }: { readonly policies: Pick<Policies, 'all'>; readonly holds: Pick<Holds, 'all'> },
): Tenants {
  const before = new Map<TenantId, TenantRecord>();
  /** What is compiled for a record stays compiled: so one that is the same as before is the same object. */
  const sameAsBefore = (record: TenantRecord): TenantRecord => {
    const known = before.get(record.tenantId);
    if (known !== undefined && isSameTenant(known, record)) return known;
    if (before.size >= TENANTS_KEPT_MAX) before.clear();
    if (record.policies.length + record.holds.length > 0) before.set(record.tenantId, record);
    return record;
  };
  const altered = new Set<TenantId>();
  const tenantOf = async (stored: StoredTenant): Promise<TenantRecord> => {
    const tenant = await readTenant(stored);
    if (tenant.isAltered !== true) altered.delete(tenant.tenantId);
    else if (altered.size < TENANTS_KEPT_MAX) altered.add(tenant.tenantId);
    return tenant;
  };
  const readTenant = async (stored: StoredTenant): Promise<TenantRecord> => {
    const { settings, hasPolicies, hasHolds, ...facts } = stored;
    const { tenantId } = stored;
    // Read behind `holdsAsOf`: one that changes meanwhile leaves that behind, and nothing is removed.
    const active = hasPolicies ? await activeOf(policies, tenantId) : [];
    const held = hasHolds ? await activeOf(holds, tenantId) : [];
    const genuine = await kept.genuine(settings);
    const version = settings?.version ?? 0;
    const usual = { ...facts, ...USUAL_SETTINGS, version, updatedAtMs: facts.createdAtMs };
    if (active === undefined || held === undefined || (settings !== undefined && genuine === undefined))
      return { ...usual, ...UNTRUSTED, policies: [], holds: [], isAltered: true };
    const known = genuine === undefined ? usual : { ...usual, ...settingsIn(genuine) };
    return sameAsBefore({ ...known, policies: active, holds: held });
  };
  const known = (tenantId: TenantId, read: () => Promise<StoredTenant | undefined>) =>
    kept.get(`tenant ${tenantId}`, async () => {
      const found = await read();
      return found && tenantOf(found);
    });
  const find = (tenantId: TenantId) => known(tenantId, () => store.find(tenantId));
  return {
    find,
    async altered() {
      for (const tenantId of altered) await find(tenantId);
      return [...altered];
    },
    async ensure(tenantId, nowMs) {
      const found = await known(tenantId, () => store.ensure(tenantId, nowMs));
      if (found !== undefined) return found;
      // A concurrent lookup found it missing.
      return tenantOf(await store.ensure(tenantId, nowMs));
    },
    async withNewFingerprints(tenant) {
      try {
        return { ...tenant, fingerprintKey: await store.replaceFingerprintKey(tenant.tenantId) };
      } finally {
        kept.forget();
      }
    },
    page: async (request, states) => Promise.all((await store.page(request, states)).map(tenantOf)),
    count: (states) => store.count(states),
  };
}

const TENANTS_KEPT_MAX = 1000;

/** Undefined where one of them is not one of this installation's. */
async function activeOf<R extends { readonly status: string }>(
  records: Pick<GenuineRecords<R>, 'all'>,
  tenantId: TenantId,
): Promise<readonly R[] | undefined> {
  try {
    return (await records.all(tenantId)).filter(({ status }) => status === 'Active');
  } catch (error) {
    if (error instanceof ForgedRecord) return undefined;
    throw error;
  }
}

function isSameTenant(one: TenantRecord, other: TenantRecord): boolean {
  return (
    one.version === other.version &&
    one.updatedAtMs === other.updatedAtMs &&
    Buffer.compare(one.fingerprintKey, other.fingerprintKey) === 0 &&
    // Each change of a policy or a hold makes it another one.
    one.holdsAsOf === other.holdsAsOf &&
    isSameList(one.policies, other.policies) &&
    isSameList(one.holds, other.holds)
  );
}

function isSameList(one: readonly object[], other: readonly object[]): boolean {
  return one.length === other.length && one.every((each, i) => each === other[i]);
}

const TENANT_ID = new RegExp(TENANT_ID_PATTERN);

/** The owner of the log for a call that names this tenant, or the installation; undefined for an invalid name. */
export async function ownerNamed(
  tenant: unknown,
  tenants: Pick<Tenants, 'find'>,
): Promise<{ readonly tenant: TenantId; readonly tenantRecord: TenantRecord | undefined } | undefined> {
  if (typeof tenant !== 'string' || !(tenant === INSTALLATION || TENANT_ID.test(tenant))) return undefined;
  return { tenant, tenantRecord: await tenants.find(tenant) };
}

/** The content of the tenant's record. */
export function contentOf(settings: TenantSettings, updatedAtMs: number) {
  const { status, region, ...others } = settings;
  return { ...others, state: status, updatedAtMs, ...(region !== undefined && { region }) };
}

/** Of a genuine record. */
export function settingsIn({ body }: StoredRecord): TenantSettings & { readonly updatedAtMs: number } {
  // Written by `contentOf`.
  const content = parseJson(body) as ReturnType<typeof contentOf> & { region?: string };
  const { tier, state, defaultClassification, defaultRetention, fourEyes, region, updatedAtMs } = content;
  return {
    tier,
    region,
    status: state,
    defaultClassification,
    defaultRetention,
    fourEyes,
    updatedAtMs,
  };
}

export type SettingsVersion = ReturnType<typeof settingsVersionIn>;

export function settingsVersionIn(record: StoredRecord) {
  return { ...settingsIn(record), version: record.version };
}
