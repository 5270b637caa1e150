// API keys from before there were records. The first start of this version makes records of them, each with its notice, and
// removes the rows. It does so only once: where the log of the installation was anchored before, such rows are not of an
// older version, and write access to the database must not be enough to add a key that counts.

import type { KeyId, TenantId } from '@tallystick/contract';
import { KINDS } from '@tallystick/evidence';
import { type ChangeRecords, type RecordWrite, recordsOf } from '../records/change.ts';
import type { Random } from '../runtime/random.ts';
import type { ApiKeyRecord, ApiKeys } from './api-keys.ts';
import { contentOfKey, KEY_KIND } from './key-records.ts';

/** A row of the old table. */
export type OlderKey = Omit<ApiKeyRecord, 'replacedBy' | 'firstKeyId' | 'uniqueName' | 'version'>;

export interface OlderKeyStore {
  list(): Promise<readonly OlderKey[]>;
  /** All keys of the tenant, or of the installation. */
  remove(tenantId: TenantId | '*'): Promise<void>;
}

export interface OlderKeyParts {
  readonly older: OlderKeyStore;
  readonly keys: Pick<ApiKeys, 'find'>;
  readonly change: ChangeRecords;
  readonly random: Pick<Random, 'uuid'>;
}

const AT_ONCE_MAX = 100;

/** Returns how many there were. */
export async function adoptOlderKeys({ older, keys, change, random }: OlderKeyParts): Promise<number> {
  const found = await older.list();
  const requestId = random.uuid();
  for (const [owner, own] of Map.groupBy(found, ({ tenantId }) => tenantId)) {
    const replacedBy = new Map(own.map(({ keyId, replaces }) => [replaces, keyId]));
    const byId = new Map(own.map((key) => [key.keyId, key]));
    const missing: OlderKey[] = [];
    // A start that was cut short may have made some of them.
    for (const key of own) if ((await keys.find(key.keyId)) === undefined) missing.push(key);
    for (let i = 0; i < missing.length; i += AT_ONCE_MAX) {
      const writes = missing.slice(i, i + AT_ONCE_MAX).map((key) => {
        const chain = { replacedBy: replacedBy.get(key.keyId), firstKeyId: firstOf(key, byId) };
        const more = { ...chain, uniqueName: undefined, version: 1 };
        return adoption({ ...key, ...more }, requestId);
      });
      // Refused if another node was faster.
      recordsOf(await change({ owner, writes, correlationId: requestId }));
    }
    await older.remove(owner);
  }
  return found.length;
}

/** Where the rotations that led to this key began. */
function firstOf(key: OlderKey, byId: ReadonlyMap<KeyId, OlderKey>): KeyId | undefined {
  const newer = new Set<OlderKey>();
  let first = key;
  // Rows that somebody has altered may replace each other in a circle.
  for (
    let older = olderOf(key, byId);
    older !== undefined && !newer.has(older);
    older = olderOf(first, byId)
  ) {
    newer.add(first);
    first = older;
  }
  return first === key ? undefined : first.keyId;
}

function olderOf({ replaces }: OlderKey, byId: ReadonlyMap<KeyId, OlderKey>): OlderKey | undefined {
  return replaces === undefined ? undefined : byId.get(replaces);
}

function adoption(key: ApiKeyRecord, requestId: string): RecordWrite {
  const { keyId: id, version } = key;
  const notice = {
    kind: KINDS.administration,
    action: 'Adopt.ApiKey',
    resource: { resourceType: 'ApiKey', resourceId: id },
    payload: { act: 'KeyAdopted', requestId, subjectIds: [id], count: 1 },
  };
  return { kind: KEY_KIND, id, version, content: contentOfKey(key), notice };
}
