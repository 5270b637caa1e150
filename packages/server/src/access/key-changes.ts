// Making, rotating and revoking API keys, for the admin API and the command line. Each change is one commit with its
// notice: in the log of the key's tenant, or in that of the installation for a platform key.

import { AuditError, type KeyId, type TenantId } from '@tallystick/contract';
import { KINDS } from '@tallystick/evidence';
import { type ChangeRecords, type RecordWrite, recordsOf } from '../records/change.ts';
import type { ChangeRefusal } from '../records/records.ts';
import { type Clock, LATEST_MS } from '../runtime/clock.ts';
import type { Random } from '../runtime/random.ts';
import type { Once } from '../streams/log.ts';
import type { Telemetry } from '../telemetry.ts';
import { type ApiKeyRecord, type ApiKeys, hashOfKey, keyStatus, makeKey } from './api-keys.ts';
import { contentOfKey, KEY_KIND } from './key-records.ts';
import type { TenantRecord } from './tenants.ts';

/** The properties of a new key. */
export type KeySettings = Pick<
  ApiKeyRecord,
  'tenantId' | 'name' | 'roles' | 'scopes' | 'clearance' | 'expiresAtMs'
> &
  Partial<Pick<ApiKeyRecord, 'allowedNetworks' | 'uniqueName' | 'replaces' | 'firstKeyId'>>;

/** Who changes keys, and in which request. */
export interface KeyChangeCause {
  /** A caller's name, or `system`. */
  readonly by: string;
  readonly requestId: string;
  readonly correlationId: string;
  /** Makes the idempotency key of the request, which the same commit uses up; gets the id of the new API key and its tenant. */
  readonly onceFor?: (madeKeyId: KeyId, tenant: TenantRecord) => Once | undefined;
}

/** A key with its secret, which nobody sees again. */
export interface MadeKey {
  readonly record: ApiKeyRecord;
  readonly key: string;
}

export interface Rotation {
  readonly graceMs: number;
  /** Whether the new key is the same caller: it is then told of repeats of what the old one sent. */
  readonly isSameCaller: boolean;
}

export interface KeyChanges {
  /** With `key` as the key itself, if it is given. Undefined where another key of the tenant has its unique name. */
  create(request: KeySettings, cause: KeyChangeCause, key?: string): Promise<MadeKey | undefined>;
  /**
   * The new key has what the old one had, and the same lifetime again; the old one works on for `graceMs`. Throws
   * KEY_NOT_FOUND for one that does not work any more or has been rotated before.
   */
  rotate(old: ApiKeyRecord, rotation: Rotation, cause: KeyChangeCause): Promise<MadeKey>;
  /** The key is refused from now on; doing it again changes nothing. */
  revoke(record: ApiKeyRecord, cause: KeyChangeCause): Promise<void>;
}

export interface KeyChangeParts {
  readonly keys: Pick<ApiKeys, 'find'>;
  readonly change: ChangeRecords;
  /** Throws where the tenant may have no key; undefined: any may. */
  readonly ensureOwner?: (owner: TenantId | '*') => Promise<TenantRecord>;
  readonly clock: Clock;
  readonly random: Random;
  readonly nextId: () => string;
  /** Learns the caller, whom no notice names. Undefined on the command line, where the caller is the operator. */
  readonly telemetry?: Pick<Telemetry, 'info'>;
}

export function createKeyChanges(parts: KeyChangeParts): KeyChanges {
  const { keys, clock, random, nextId } = parts;

  const make = (request: KeySettings, { by }: KeyChangeCause, given?: string): MadeKey => {
    const { tenantId, name, roles, scopes, clearance, expiresAtMs, allowedNetworks } = request;
    const { uniqueName, replaces, firstKeyId } = request;
    const granted = { tenantId, name, roles, scopes, clearance, expiresAtMs, allowedNetworks };
    const facts = { ...granted, uniqueName, replaces, firstKeyId };
    const keyId = nextId();
    const key = given ?? makeKey(keyId, random);
    const made = { keyId, createdAtMs: clock.now(), createdBy: by, hash: hashOfKey(key), version: 1 };
    return { record: { ...facts, ...made, revokedAtMs: undefined, replacedBy: undefined }, key };
  };

  return {
    async create(request, cause, given) {
      const made = make(request, cause, given);
      const refused = await put(parts, [[made.record, 'KeyCreated']], cause, made.record.keyId);
      if (refused?.status === 'Stale') throw new Error(`the key ${made.record.keyId} is there already`);
      return refused === undefined ? made : undefined;
    },
    async rotate(old, { graceMs, isSameCaller }, cause) {
      const nowMs = clock.now();
      const gone = (why: string) => new AuditError('KEY_NOT_FOUND', `The API key ${old.keyId} ${why}.`);
      const status = keyStatus(old, nowMs);
      if (status !== 'Active') throw gone(status === 'Revoked' ? 'was revoked' : 'has expired');
      if (old.replacedBy !== undefined) throw gone(`was rotated before; ${old.replacedBy} took its place`);
      const lifetimeMs = old.expiresAtMs === undefined ? undefined : old.expiresAtMs - old.createdAtMs;
      const expiresAtMs = lifetimeMs === undefined ? undefined : Math.min(nowMs + lifetimeMs, LATEST_MS);
      const firstKeyId = isSameCaller ? (old.firstKeyId ?? old.keyId) : undefined;
      const made = make(
        { ...old, expiresAtMs, replaces: old.keyId, firstKeyId, uniqueName: undefined },
        cause,
      );
      const ended = {
        ...old,
        version: old.version + 1,
        replacedBy: made.record.keyId,
        expiresAtMs: Math.min(old.expiresAtMs ?? LATEST_MS, nowMs + graceMs),
      };
      const changed: ChangedKey[] = [
        [ended, 'KeyRotated'],
        [made.record, 'KeyCreated'],
      ];
      const refused = await put(parts, changed, cause, made.record.keyId);
      if (refused !== undefined) throw gone('was changed by somebody else meanwhile');
      return made;
    },
    async revoke(record, cause) {
      let key: ApiKeyRecord | undefined = record;
      while (key !== undefined && key.revokedAtMs === undefined) {
        const revoked = { ...key, version: key.version + 1, revokedAtMs: clock.now() };
        const refused = await put(parts, [[revoked, 'KeyRevoked']], cause);
        if (refused === undefined) return;
        // Another caller has changed it meanwhile.
        key = await keys.find(record.keyId);
      }
    },
  };
}

/** Stands for the service itself, where no caller changes keys. */
export const SYSTEM = 'system';

const ACTIONS = {
  KeyCreated: 'Create.ApiKey',
  KeyRotated: 'Rotate.ApiKey',
  KeyRevoked: 'Revoke.ApiKey',
} as const;

type KeyAct = keyof typeof ACTIONS;
type ChangedKey = readonly [key: ApiKeyRecord, act: KeyAct];

/** Keys of one tenant, together. */
async function put(
  { change, ensureOwner, telemetry }: KeyChangeParts,
  changed: readonly ChangedKey[],
  { by, requestId, correlationId, onceFor }: KeyChangeCause,
  madeKeyId?: KeyId,
): Promise<ChangeRefusal | undefined> {
  const [[{ tenantId: owner }]] = changed as readonly [ChangedKey];
  // A key can be revoked even if its tenant is suspended.
  const tenant = madeKeyId === undefined ? undefined : await ensureOwner?.(owner);
  const writes = changed.map(([key, act]): RecordWrite => {
    const { keyId: id, version } = key;
    // Report it before it is done, so that no change goes unseen. Changes by the service itself at its start are not reported.
    if (by !== SYSTEM)
      telemetry?.info('an API key is changed', { act, tenant: owner, keyId: id, requestId, caller: by });
    const notice = {
      kind: KINDS.administration,
      action: ACTIONS[act],
      resource: { resourceType: 'ApiKey', resourceId: id },
      payload: { act, requestId, subjectIds: [id], count: 1 },
    };
    return { kind: KEY_KIND, id, version, content: contentOfKey(key), notice };
  });
  const used = madeKeyId === undefined || tenant === undefined ? undefined : onceFor?.(madeKeyId, tenant);
  const result = recordsOf(await change({ owner, writes, correlationId, once: used }));
  return 'status' in result ? result : undefined;
}
