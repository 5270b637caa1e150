// Policies of tenants, read from their records: the current version, and all before it. After a change of any record, all tenants
// are read again, and policies may be large: so a policy whose row is unchanged is neither checked nor parsed again.

import type { PolicyId, TenantId } from '@tallystick/contract';
import type { KeptRecords } from '../records/kept-records.ts';
import type { RecordReader, StoredRecord } from '../records/records.ts';
import { pauseForOthers } from '../runtime/pause.ts';
import { POLICY_KIND, policyIn, type PolicyRecord } from './policy.ts';

/** All throw ForgedPolicy for a record that is not one of this installation's: to go on without it might show what it withholds. */
export interface Policies {
  /** Deleted ones too. */
  find(tenant: TenantId, policyId: PolicyId): Promise<PolicyRecord | undefined>;
  /** By id, deleted ones too. One that is unchanged is the same object as before. */
  all(tenant: TenantId): Promise<readonly PolicyRecord[]>;
  /** As it was in this version, the current one included. */
  version(tenant: TenantId, policyId: PolicyId, version: number): Promise<PolicyRecord | undefined>;
}

export class ForgedPolicy extends Error {
  constructor({ owner, id, version }: StoredRecord) {
    super(`version ${version} of the policy ${id} of ${owner} is not as this installation has made it`);
  }
}

interface ReadPolicy {
  readonly record: StoredRecord;
  readonly policy: PolicyRecord;
}

const TENANTS_KEPT_MAX = 1000;
/** To check and parse so many characters takes some milliseconds. */
const AT_ONCE_LENGTH = 100_000;

export function createPolicies(
  records: Pick<RecordReader, 'forOwner'>,
  kept: Pick<KeptRecords, 'genuine'>,
): Policies {
  /** By tenant and id. */
  const before = new Map<TenantId, ReadonlyMap<string, ReadPolicy>>();
  const genuine = async (record: StoredRecord) => {
    const sound = await kept.genuine(record);
    if (sound === undefined) throw new ForgedPolicy(record);
    return policyIn(sound);
  };
  const find = async (tenant: TenantId, policyId: PolicyId) => {
    const record = await records.forOwner(tenant).find(POLICY_KIND, policyId);
    return record && genuine(record);
  };
  return {
    find,
    async all(tenant) {
      const known = before.get(tenant);
      const read = new Map<string, ReadPolicy>();
      let length = 0;
      for (const record of await records.forOwner(tenant).list(POLICY_KIND)) {
        const same = sameIn(known, record);
        read.set(record.id, same ?? { record, policy: await genuine(record) });
        if (same !== undefined || (length += record.body.length) < AT_ONCE_LENGTH) continue;
        await pauseForOthers();
        length = 0;
      }
      if (before.size >= TENANTS_KEPT_MAX) before.clear();
      before.set(tenant, read);
      return [...read.values()].map(({ policy }) => policy);
    },
    async version(tenant, policyId, version) {
      // The current one is read first: it may become a past one meanwhile, and never the other way round.
      const current = await find(tenant, policyId);
      if (current === undefined || current.version === version) return current;
      const past = await records.forOwner(tenant).past(POLICY_KIND, policyId, version);
      return past && genuine(past);
    },
  };
}

/** The policy that was read before from the same row, if all that its MAC covers is unchanged. */
function sameIn(
  known: ReadonlyMap<string, ReadPolicy> | undefined,
  record: StoredRecord,
): ReadPolicy | undefined {
  const found = known?.get(record.id);
  if (found === undefined) return undefined;
  const { record: one } = found;
  const isSame =
    one.version === record.version &&
    one.state === record.state &&
    one.uniqueName === record.uniqueName &&
    one.lookup === record.lookup &&
    one.body === record.body &&
    Buffer.compare(one.salt, record.salt) === 0 &&
    Buffer.compare(one.mac, record.mac) === 0;
  return isSame ? found : undefined;
}
