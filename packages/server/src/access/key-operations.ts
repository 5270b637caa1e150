// The admin API for keys. A tenant's Admin reaches the keys of that tenant; a platform caller reaches all.
// Nobody can hand out more than they have: a key, made or rotated, allows and shows nothing that its maker may not
// do and see, or a manager of keys could give itself any permission.

import {
  type Answer,
  AuditError,
  CLASSIFICATIONS,
  type InputOf,
  KEY_GRACE_DEFAULT,
  type KeyId,
  PERMISSION_NAMES,
  type TenantId,
  ULID_PATTERN,
} from '@tallystick/contract';
import { type Call, type OwnViolation, type Received, receivedMember } from '../call.ts';
import { type Cursors, isId, newestFirst, readPage } from '../paging.ts';
import { UNCLASSIFIED } from '../repeats.ts';
import type { Clock } from '../runtime/clock.ts';
import { expiryAfter } from '../runtime/expiry.ts';
import type { UsedIdempotencyKey } from '../streams/log.ts';
import { idempotencyNowMs, onceOf } from '../streams/append/idempotency-key.ts';
import type { Access } from './access.ts';
import { type ApiKeyRecord, type ApiKeys, showKey } from './api-keys.ts';
import { type Caller, callerOfKey, type KeyGrants } from './caller.ts';
import type { KeyChangeCause, KeyChanges } from './key-changes.ts';
import type { KeyUses } from './key-uses.ts';
import { lower } from './roles.ts';
import { ownerNamed, type Tenants } from './tenants.ts';

export interface KeyOperationParts {
  readonly keys: Pick<ApiKeys, 'find' | 'page' | 'count'>;
  readonly uses: Pick<KeyUses, 'lastUses'>;
  readonly keyVersions: Access['keyVersions'];
  readonly changes: KeyChanges;
  readonly tenants: Pick<Tenants, 'find'>;
  readonly cursors: Cursors;
  readonly clock: Clock;
  /** Time that no jump of the wall clock moves; idempotency keys expire by it. */
  readonly steadyNowMs: () => number;
}

/** The input before anything has been validated. */
type RawInput = Received['input'];

export function createKeyOperations(parts: KeyOperationParts) {
  const { keys, changes, clock } = parts;
  const shown = (record: ApiKeyRecord) => showKey(record, clock.now());
  const keyFor = async (call: Call, keyId: KeyId): Promise<ApiKeyRecord> => {
    const record = await keys.find(keyId);
    const isOurs = record !== undefined && (record.tenantId === call.tenant || managesPlatform(call));
    if (!isOurs) throw new AuditError('KEY_NOT_FOUND', `There is no API key ${keyId}.`);
    return record;
  };
  const causeOf = (call: Call): KeyChangeCause => ({
    by: callerOf(call).name,
    requestId: call.correlation.requestId,
    correlationId: call.correlation.correlationId,
    onceFor: (madeKeyId, tenant) => onceOf(call, tenant, idempotencyNowMs(parts), UNCLASSIFIED, madeKeyId),
  });
  const answerAgain = async (call: Call, _: Received, { note: keyId }: UsedIdempotencyKey) =>
    ({ kind: 'Repeated', body: await showAsMade(await keyFor(call, keyId), parts) }) as const;

  const create = async (call: Call, { key }: InputOf<'apiKeys.create'>) => {
    const request = {
      tenantId: tenantOf(call, key.tenantId),
      name: key.name,
      roles: [...new Set(key.roles)],
      scopes: [...new Set(key.scopes)],
      clearance: key.clearance,
      expiresAtMs: key.expiresAt === undefined ? undefined : Date.parse(key.expiresAt),
      allowedNetworks: key.allowedNetworks,
    };
    checkGrants(call, request);
    const made = (await changes.create(request, causeOf(call)))!;
    return { ...shown(made.record), key: made.key };
  };
  const rotate = async (call: Call, input: InputOf<'apiKeys.rotate'>) => {
    const old = await keyFor(call, input.keyId);
    checkGrants(call, old);
    const nowMs = clock.now();
    const graceMs = expiryAfter(nowMs, input.rotation?.gracePeriod ?? KEY_GRACE_DEFAULT) - nowMs;
    const rotation = { graceMs, isSameCaller: mayHandOn(callerOf(call), old) };
    const made = await changes.rotate(old, rotation, causeOf(call));
    return { ...shown(made.record), key: made.key };
  };

  return {
    'apiKeys.create': {
      async perform(call: Call, input: InputOf<'apiKeys.create'>): Promise<Answer<'apiKeys.create'>> {
        return { kind: 'Created', body: await create(call, input) };
      },
      answerAgain,
      checkReach: (call: Call, { key }: RawInput) => void tenantOf(call, receivedMember(key, 'tenantId')),
      rules: ({ key }: RawInput) => violationsOfEnd(receivedMember(key, 'expiresAt'), clock.now()),
      writesTo: (call: Call, { key }: RawInput) =>
        reached(call, receivedMember(key, 'tenantId'), parts.tenants),
    },
    'apiKeys.rotate': {
      async perform(call: Call, input: InputOf<'apiKeys.rotate'>): Promise<Answer<'apiKeys.rotate'>> {
        return { kind: 'Created', body: await rotate(call, input) };
      },
      answerAgain,
      writesTo: async (call: Call, { keyId }: RawInput) =>
        reached(call, isKeyId(keyId) ? (await keys.find(keyId))?.tenantId : undefined, parts.tenants),
    },
    'apiKeys.revoke': async (call: Call, { keyId }: InputOf<'apiKeys.revoke'>) => {
      await changes.revoke(await keyFor(call, keyId), causeOf(call));
      return { kind: 'Removed', body: undefined } as const;
    },
    'apiKeys.list': (call: Call, input: InputOf<'apiKeys.list'>) => list(call, input, parts),
    'apiKeys.get': async (call: Call, { keyId }: InputOf<'apiKeys.get'>) =>
      ({ kind: 'Done', body: await showWithUse(await keyFor(call, keyId), parts) }) as const,
  };
}

/** As the first answer showed it, whatever has become of it since. */
async function showAsMade({ tenantId, keyId }: ApiKeyRecord, { keyVersions }: KeyOperationParts) {
  const made = (await keyVersions.version(tenantId, keyId, 1))!;
  return showKey(made, made.createdAtMs);
}

async function showWithUse(record: ApiKeyRecord, { uses, clock }: KeyOperationParts) {
  return showKey(record, clock.now(), (await uses.lastUses([record])).get(record.keyId));
}

/** The keys of one tenant: that of the call, or any other one for a platform caller. */
async function list(
  call: Call,
  input: InputOf<'apiKeys.list'>,
  { keys, uses, cursors, clock }: KeyOperationParts,
): Promise<Answer<'apiKeys.list'>> {
  const tenantId = tenantOf(call, input.tenantId);
  const read = readPage(cursors, call, input, isId);
  const rows = await keys.page(tenantId, newestFirst(read));
  // A cursor is made with a secret of the call's tenant, and this one has none yet.
  if (call.tenantRecord === undefined && rows.length >= read.rowsMax) {
    const issue = 'a list of several pages needs a tenant that exists';
    throw new AuditError('TENANT_NOT_FOUND', `There is no tenant ${call.tenant}: ${issue}.`);
  }
  const { data, pagination } = read.page(rows, ({ keyId }) => keyId, await keys.count(tenantId));
  const lastUses = await uses.lastUses(data);
  const nowMs = clock.now();
  return {
    kind: 'Done',
    body: { data: data.map((record) => showKey(record, nowMs, lastUses.get(record.keyId))), pagination },
  };
}

/** `wanted` may not have been validated yet. */
function tenantOf(call: Call, wanted: unknown): TenantId | '*' {
  const tenantId = typeof wanted === 'string' ? wanted : (call.tenant ?? '');
  if (tenantId === call.tenant || managesPlatform(call)) return tenantId;
  if (tenantId === '*')
    throw new AuditError(
      'FORBIDDEN',
      'Platform keys are made and listed with a platform key of the role Admin.',
    );
  const issue = 'must be the tenant of the request, unless a platform key of the role Admin is sent';
  throw new AuditError('TENANT_MISMATCH', `tenantId ${issue}.`, {
    details: [{ field: 'tenantId', issue, value: tenantId }],
  });
}

/** The owner of the log that gets the notice; undefined if it is the tenant of the call, or one that the caller may not reach. */
async function reached(call: Call, tenantId: unknown, tenants: Pick<Tenants, 'find'>) {
  return managesPlatform(call) ? ownerNamed(tenantId, tenants) : undefined;
}

const KEY_ID = new RegExp(ULID_PATTERN);

const isKeyId = (value: unknown): value is KeyId => typeof value === 'string' && KEY_ID.test(value);

function checkGrants(call: Call, request: KeyGrants): void {
  const caller = callerOf(call);
  const made = callerOfKey({ ...request, keyId: '' });
  const excess = PERMISSION_NAMES.find(
    (permission) => made.refusal(permission) === undefined && caller.refusal(permission) !== undefined,
  );
  if (excess !== undefined)
    throw new AuditError('FORBIDDEN', `The key would allow ${excess}, which you may not.`);
  if (lower(made.clearance, caller.clearance) !== made.clearance) {
    throw new AuditError(
      'FORBIDDEN',
      `The key would see ${made.clearance}; your clearance is ${caller.clearance}.`,
    );
  }
}

function violationsOfEnd(expiresAt: unknown, nowMs: number): OwnViolation[] {
  if (typeof expiresAt !== 'string' || !(Date.parse(expiresAt) <= nowMs)) return [];
  const detail = { field: 'expiresAt', issue: 'must lie in the future', value: expiresAt };
  return [{ member: 'key', detail }];
}

/** Otherwise a caller that may rotate a key could find out by guessing what the key has sent. */
function mayHandOn({ name, clearance }: Caller, { keyId }: ApiKeyRecord): boolean {
  return name === `key:${keyId}` || clearance === CLASSIFICATIONS.at(-1);
}

function managesPlatform(call: Call): boolean {
  return callerOf(call).refusal('audit.platform.manage') === undefined;
}

function callerOf({ caller }: Call): Caller {
  if (caller === undefined) throw new AuditError('FORBIDDEN', 'This needs a caller.');
  return caller;
}
