// The records of one kind that tenants have, read as their noun understands them: the current version, and all before it. After a
// change of any record, those of all tenants are read again, and they may be large: so one whose row is unchanged is neither
// checked nor parsed again.

import type { TenantId } from '@tallystick/contract';
import { pauseForOthers } from '../runtime/pause.ts';
import type { KeptRecords } from './kept-records.ts';
import { differingId, type NotedVersions } from './noted-versions.ts';
import { commitmentOfRecord } from './record-macs.ts';
import type { OwnedRecords, RecordKind, RecordReader, StoredRecord } from './records.ts';

/**
 * All throw ForgedRecord for a record that is not one of this installation's: nobody may go on as if it were not there. `all` does so as
 * well where the notices of the log tell of the kind, and of other records than those that are there.
 */
export interface GenuineRecords<R> {
  find(tenant: TenantId, id: string): Promise<R | undefined>;
  /** By id. One that is unchanged is the same object as before. */
  all(tenant: TenantId): Promise<readonly R[]>;
  /** Those in a state; `after`: none at or below this id. */
  pageInState(
    tenant: TenantId,
    state: string,
    request: Parameters<OwnedRecords['pageInState']>[2],
  ): Promise<readonly R[]>;
  /** Counted up to one more than the total of a list is exact for. */
  countInState(tenant: TenantId, state: string, after?: string): Promise<number>;
  /** As it was in this version, the current one included. */
  version(tenant: TenantId, id: string, version: number): Promise<R | undefined>;
}

export class ForgedRecord extends Error {}

interface Read<R> {
  readonly record: StoredRecord;
  readonly read: R;
  readonly commitment: string;
}

export interface GenuineParts {
  readonly records: Pick<RecordReader, 'forOwner'>;
  readonly kept: Pick<KeptRecords, 'genuine' | 'report'>;
}

const TENANTS_KEPT_MAX = 1000;
/** To check and parse so many characters takes some milliseconds. */
const AT_ONCE_LENGTH = 100_000;
/** While records change between two looks at the log. */
const ATTEMPTS_MAX = 20;

/** `readIn` reads a genuine record. `notedOf`: what the log of a tenant says of the kind, as of now. */
export function createGenuineRecords<R extends { readonly version: number }>(
  kind: RecordKind,
  readIn: (record: StoredRecord) => R,
  { records, kept }: GenuineParts,
  notedOf?: (tenant: TenantId) => Promise<NotedVersions>,
): GenuineRecords<R> {
  /** By tenant and id. */
  const before = new Map<TenantId, ReadonlyMap<string, Read<R>>>();
  const genuine = async (record: StoredRecord) => readIn(await requireGenuine(kind, record, kept));
  const find = async (tenant: TenantId, id: string) => {
    const record = await records.forOwner(tenant).find(kind, id);
    return record && genuine(record);
  };
  const readAll = async (tenant: TenantId) => {
    const known = before.get(tenant);
    const all = new Map<string, Read<R>>();
    let length = 0;
    for (const record of await records.forOwner(tenant).list(kind)) {
      const same = sameIn(known, record);
      all.set(record.id, same ?? (await readNew(record)));
      if (same !== undefined || (length += record.body.length) < AT_ONCE_LENGTH) continue;
      await pauseForOthers();
      length = 0;
    }
    if (before.size >= TENANTS_KEPT_MAX) before.clear();
    before.set(tenant, all);
    return all.values();
  };
  const readNew = async (record: StoredRecord): Promise<Read<R>> => ({
    record,
    read: await genuine(record),
    commitment: notedOf === undefined ? '' : commitmentOfRecord(record),
  });
  const allNoted = async (tenant: TenantId, notedNow: (tenant: TenantId) => Promise<NotedVersions>) => {
    for (let attempt = 1; attempt <= ATTEMPTS_MAX; attempt++) {
      const noted = await notedNow(tenant);
      const all = [...(await readAll(tenant))];
      const id = differingId(all.map(committed), noted);
      if (id === undefined) return all;
      // A change commits records and notices together, and may have come between the two reads.
      if ((await notedNow(tenant)).endIndex !== noted.endIndex) continue;
      kept.report({ owner: tenant, kind, id });
      throw new ForgedRecord(`the ${kind} ${id} of ${tenant} is not what the log tells of, or is missing`);
    }
    throw new Error(`records of the kind ${kind} of ${tenant} are being changed`);
  };
  return {
    find,
    async all(tenant) {
      const all = notedOf === undefined ? await readAll(tenant) : await allNoted(tenant, notedOf);
      return Array.from(all, ({ read }) => read);
    },
    async pageInState(tenant, state, request) {
      const page = await records.forOwner(tenant).pageInState(kind, state, request);
      return Promise.all(page.map(genuine));
    },
    countInState: (tenant, state, after) => records.forOwner(tenant).countInState(kind, state, after),
    async version(tenant, id, version) {
      // The current one is read first: it may become a past one meanwhile, and never the other way round.
      const current = await find(tenant, id);
      if (current === undefined || current.version === version) return current;
      const past = await records.forOwner(tenant).past(kind, id, version);
      return past && genuine(past);
    },
  };
}

async function requireGenuine(
  kind: RecordKind,
  record: StoredRecord,
  kept: GenuineParts['kept'],
): Promise<StoredRecord> {
  const sound = await kept.genuine(record);
  if (sound !== undefined) return sound;
  const { owner, id, version } = record;
  throw new ForgedRecord(
    `version ${version} of the ${kind} ${id} of ${owner} is not as this installation has made it`,
  );
}

function committed({ record: { id, version }, commitment }: Read<unknown>) {
  return { id, version, commitment };
}

/** What was read before from the same row, if all that its MAC covers is unchanged. */
function sameIn<R>(
  known: ReadonlyMap<string, Read<R>> | undefined,
  record: StoredRecord,
): Read<R> | undefined {
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
