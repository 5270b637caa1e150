// Keys, tenants and their changes over the records of a store, put together: the same for the service and the command line.

import { INSTALLATION } from '@tallystick/evidence';
import type { Signing } from '../keys/signing.ts';
import { type ChangeRecords, createChange } from '../records/change.ts';
import { createGenuineRecords, type GenuineRecords } from '../records/genuine-records.ts';
import {
  ERASURE_KIND,
  erasureIn,
  type ErasureRecord,
  PENDING_KIND,
  type PendingRedaction,
  pendingIn,
} from '../redaction/erasure.ts';
import { KeptRecords, type NamedRecord } from '../records/kept-records.ts';
import { createReadNoted } from '../records/noted-versions.ts';
import { createRecordMacs } from '../records/record-macs.ts';
import type { ChangeRefusal, RecordKind, RecordOwner, RecordReader } from '../records/records.ts';
import type { Clock } from '../runtime/clock.ts';
import type { Random } from '../runtime/random.ts';
import type { AppendRequest, AppendResult, LogReader } from '../streams/log.ts';
import type { Telemetry } from '../telemetry.ts';
import type { ApiKeyRecord, ApiKeys } from './api-keys.ts';
import { createExports, type Exports } from '../exports/exports.ts';
import { createSchedules, type Schedules } from '../exports/schedules/schedules.ts';
import { createHolds, type Holds } from '../holds/holds.ts';
import { createPolicies, type Policies } from '../policies/policies.ts';
import { createSubscriptions, type Subscriptions } from '../webhooks/subscriptions.ts';
import { createKeyChanges, type KeyChanges } from './key-changes.ts';
import { createApiKeys, KEY_KIND, keyIn } from './key-records.ts';
import {
  createTenants,
  type SettingsVersion,
  settingsVersionIn,
  type TenantRecord,
  type Tenants,
  type TenantStore,
} from './tenants.ts';

export interface Access {
  readonly keys: ApiKeys;
  /** As they were made. */
  readonly keyVersions: Pick<GenuineRecords<ApiKeyRecord>, 'version'>;
  readonly tenants: Tenants;
  readonly settingsVersions: Pick<GenuineRecords<SettingsVersion>, 'version'>;
  readonly policies: Policies;
  readonly holds: Holds;
  readonly erasures: GenuineRecords<ErasureRecord>;
  readonly pendingRedactions: GenuineRecords<PendingRedaction>;
  readonly subscriptions: Subscriptions;
  readonly exports: Exports;
  readonly schedules: Schedules;
  /** The installation as its own tenant: its log, and the secret by which its repeats are recognised. */
  readonly installation: () => Promise<TenantRecord>;
  readonly change: ChangeRecords;
  readonly keyChanges: KeyChanges;
}

export interface AccessParts {
  readonly records: RecordReader;
  readonly tenants: TenantStore;
  /** Where the changes of records are told. */
  readonly log: Pick<LogReader, 'forTenant'>;
  readonly signing: Pick<Signing, 'macKeys' | 'reload'>;
  /** The name under which the logs of this store are signed. */
  readonly logOrigin: () => string;
  readonly append: (request: AppendRequest) => Promise<AppendResult | ChangeRefusal>;
  /** Whether a tenant may get keys: throws otherwise. Undefined: any tenant that is asked for is made. */
  readonly provide?: (tenantId: string) => Promise<TenantRecord>;
  readonly clock: Clock;
  readonly random: Random;
  readonly nextId: () => string;
  /** Undefined on the command line. */
  readonly telemetry?: Pick<Telemetry, 'info' | 'error' | 'altered'>;
  readonly onForged?: (record: NamedRecord) => void;
}

/** No tenant is suspended because of these: only health tells that what was to be removed is not. */
const OF_REMOVALS: readonly RecordKind[] = ['Erasure', 'PendingRedaction'];

export function createAccess(parts: AccessParts): Access {
  const { records, signing, append, clock, random, nextId, telemetry } = parts;
  const macs = createRecordMacs(() => signing.macKeys(), parts.logOrigin);
  const onForged =
    parts.onForged ??
    (({ owner, kind, id }: NamedRecord) => {
      const said =
        'a record in the database was not written by this service, or was altered, put back or removed';
      const error = new Error(`${kind} ${id} of ${owner}`);
      if (OF_REMOVALS.includes(kind)) telemetry?.altered('Record', said, error);
      else telemetry?.error(said, error);
    });
  const kept = new KeptRecords({
    reader: records,
    macs,
    reloadKeys: () => signing.reload(),
    clock,
    onForged,
  });
  const readNoted = createReadNoted(parts.log);
  const policies = createPolicies({ records, kept }, readNoted);
  const holds = createHolds({ records, kept }, readNoted);
  const tenants = createTenants(parts.tenants, kept, { policies, holds });
  const ensure = (tenantId: string) => tenants.ensure(tenantId, clock.now());
  const { provide = ensure } = parts;
  const change = createChange({
    append,
    ensureOwner: (owner: RecordOwner) => ensure(owner),
    macs,
    onChanged: () => kept.forget(),
    clock,
    random,
    nextId,
  });
  const keys = createApiKeys(records, kept);
  const keyChanges = createKeyChanges({
    keys,
    change,
    ensureOwner: (owner) => (owner === INSTALLATION ? ensure(owner) : provide(owner)),
    clock,
    random,
    nextId,
    ...(telemetry && { telemetry }),
  });
  const erasures = createGenuineRecords(ERASURE_KIND, erasureIn, { records, kept });
  const pendingRedactions = createGenuineRecords(PENDING_KIND, pendingIn, { records, kept });
  return {
    keys,
    keyVersions: createGenuineRecords(KEY_KIND, keyIn, { records, kept }),
    tenants,
    settingsVersions: createGenuineRecords('Tenant', settingsVersionIn, { records, kept }),
    policies,
    holds,
    erasures,
    pendingRedactions,
    subscriptions: createSubscriptions({ records, kept }),
    exports: createExports({ records, kept }),
    schedules: createSchedules({ records, kept }),
    installation: () => ensure(INSTALLATION),
    change,
    keyChanges,
  };
}
