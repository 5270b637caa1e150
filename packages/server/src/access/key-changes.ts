// Making, rotating and revoking API keys, whoever asks: the admin API or the command line. Each change of a tenant's
// key leaves a notice in that tenant's log, the notice first and then the change: a crash between the two leaves a
// notice without a change, never a change that nobody can see. Platform keys belong to no log and leave none.

import { AuditError, isUuid, type KeyId, type TenantId } from '@tallystick/contract';
import { KINDS } from '@tallystick/evidence';
import { type Clock, LATEST_MS } from '../runtime/clock.ts';
import type { Random } from '../runtime/random.ts';
import type { AppendRequest, AppendResult, Once } from '../streams/log.ts';
import { draftNotice } from '../streams/notice.ts';
import type { Telemetry } from '../telemetry.ts';
import { type ApiKeyRecord, type ApiKeyStore, hashOfKey, keyStatus, makeKey } from './api-keys.ts';

/** What a key is to be. */
export type KeyWish = Pick<
  ApiKeyRecord,
  'tenantId' | 'name' | 'roles' | 'scopes' | 'clearance' | 'expiresAtMs'
>;

/** Who changes keys, and in which request. */
export interface KeyChangeCause {
  /** A caller's name, or `system`. */
  readonly by: string;
  readonly requestId: string;
  readonly correlationId: string;
  /** Uses the request's own key up, together with the notice; told the id of the key that is being made. */
  readonly once?: (madeKeyId: KeyId) => Once | undefined;
}

/** A key with its secret, which nobody sees again. */
export interface MadeKey {
  readonly record: ApiKeyRecord;
  readonly key: string;
}

export interface KeyChanges {
  /** With an id, that of a key which was noted once and then not made; it is not noted again. */
  create(wish: KeyWish, cause: KeyChangeCause, keyId?: KeyId): Promise<MadeKey>;
  /**
   * The new key has what the old one had and lives as long as that one was meant to; the old one works on for
   * `graceMs`. Throws KEY_NOT_FOUND for one that does not work any more or has been rotated before.
   */
  rotate(old: ApiKeyRecord, graceMs: number, cause: KeyChangeCause, keyId?: KeyId): Promise<MadeKey>;
  /** The key is refused from now on; doing it again changes nothing. */
  revoke(record: ApiKeyRecord, cause: KeyChangeCause): Promise<void>;
}

export interface KeyChangeParts {
  readonly keys: ApiKeyStore;
  /** Makes sure that the tenant is there: without it there is no log to write the notice to. */
  readonly provide: (tenantId: TenantId) => Promise<unknown>;
  readonly append: (request: AppendRequest) => Promise<AppendResult>;
  readonly clock: Clock;
  readonly random: Random;
  readonly nextId: () => string;
  /** Learns who asked, whom no notice names. Undefined on the command line: whoever asks there is the operator. */
  readonly telemetry?: Pick<Telemetry, 'info'>;
}

export function createKeyChanges(parts: KeyChangeParts): KeyChanges {
  const { keys, clock, random, nextId } = parts;

  const make = (wish: KeyWish, cause: KeyChangeCause, keyId?: KeyId, replaces?: KeyId): MadeKey => {
    const { tenantId, name, roles, scopes, clearance, expiresAtMs } = wish;
    const facts = { tenantId, name, roles, scopes, clearance, expiresAtMs };
    const made = { keyId: keyId ?? nextId(), createdAtMs: clock.now(), createdBy: cause.by };
    const record = { ...facts, ...made, revokedAtMs: undefined, replaces };
    return { record, key: makeKey(record.keyId, random) };
  };

  return {
    async create(wish, cause, keyId) {
      const made = make(wish, cause, keyId);
      if (keyId === undefined) await noteChange(parts, 'KeyCreated', made.record, cause, made.record.keyId);
      tell(parts, 'KeyCreated', made.record, cause);
      const isNew = await keys.create(made.record, hashOfKey(made.key));
      if (!isNew) throw new Error(`the key ${made.record.keyId} is there already`);
      return made;
    },
    async rotate(old, graceMs, cause, keyId) {
      const nowMs = clock.now();
      const gone = (why: string) => new AuditError('KEY_NOT_FOUND', `The API key ${old.keyId} ${why}.`);
      const status = keyStatus(old, nowMs);
      if (status !== 'Active') throw gone(status === 'Revoked' ? 'was revoked' : 'has expired');
      const newer = (await keys.list(old.tenantId)).find(({ replaces }) => replaces === old.keyId);
      if (newer !== undefined) throw gone(`was rotated before; ${newer.keyId} took its place`);
      const lifetimeMs = old.expiresAtMs === undefined ? undefined : old.expiresAtMs - old.createdAtMs;
      const expiresAtMs = lifetimeMs === undefined ? undefined : Math.min(nowMs + lifetimeMs, LATEST_MS);
      const made = make({ ...old, expiresAtMs }, cause, keyId, old.keyId);
      if (keyId === undefined) await noteChange(parts, 'KeyRotated', old, cause, made.record.keyId);
      tell(parts, 'KeyRotated', old, cause);
      const isDone = await keys.rotate(made.record, hashOfKey(made.key), nowMs + graceMs);
      if (!isDone) throw gone('was changed by somebody else meanwhile');
      return made;
    },
    async revoke(record, cause) {
      if (record.revokedAtMs !== undefined) return;
      await noteChange(parts, 'KeyRevoked', record, cause);
      tell(parts, 'KeyRevoked', record, cause);
      await keys.revoke(record.keyId, clock.now());
    },
  };
}

type KeyAct = 'KeyCreated' | 'KeyRotated' | 'KeyRevoked';

const ACTIONS = {
  KeyCreated: 'Create.ApiKey',
  KeyRotated: 'Rotate.ApiKey',
  KeyRevoked: 'Revoke.ApiKey',
} as const satisfies Record<KeyAct, string>;

/** Told before it is done, as it is noted: nobody changes a key unseen. */
function tell(
  { telemetry }: KeyChangeParts,
  act: KeyAct,
  { tenantId, keyId }: ApiKeyRecord,
  { by, requestId }: KeyChangeCause,
): void {
  telemetry?.info('an API key is changed', { act, tenant: tenantId, keyId, requestId, caller: by });
}

async function noteChange(
  { provide, append, clock, random, nextId }: KeyChangeParts,
  act: KeyAct,
  { tenantId, keyId }: Pick<ApiKeyRecord, 'tenantId' | 'keyId'>,
  { requestId, correlationId, once }: KeyChangeCause,
  madeKeyId?: KeyId,
): Promise<void> {
  if (tenantId === '*') return;
  await provide(tenantId);
  const draft = draftNotice(
    {
      kind: KINDS.administration,
      action: ACTIONS[act],
      resource: { resourceType: 'ApiKey', resourceId: keyId },
      payload: { act, requestId, subjectIds: [keyId], count: 1 },
      correlationId: isUuid(correlationId) ? correlationId : random.uuid(),
    },
    { eventId: nextId(), nowMs: clock.now() },
  );
  const used = madeKeyId === undefined ? undefined : once?.(madeKeyId);
  const { status } = await append({ tenant: tenantId, drafts: [draft], atomic: true, once: used });
  if (status === 'Done') return;
  // Somebody else was faster with the same request; whoever asks again gets the answer to that one.
  throw new AuditError('SERVICE_UNAVAILABLE', 'The same request is being answered elsewhere; ask again.');
}
