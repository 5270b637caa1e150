// The admin API for tenants: a platform Admin makes them, changes their settings and suspends them. Each change is a
// notice in the log of the tenant itself.

import { type Answer, AuditError, type InputOf, type Tenant, type TenantId } from '@tallystick/contract';
import { KINDS } from '@tallystick/evidence';
import { type Call, type Received, receivedMember } from '../call.ts';
import { type Cursors, inOrder, isId, readPage } from '../paging.ts';
import { type RecordWrite, recordsOf } from '../records/change.ts';
import { requireMatch } from '../records/if-match.ts';
import { UNCLASSIFIED } from '../repeats.ts';
import { type Clock, instant } from '../runtime/clock.ts';
import { KeyedQueue } from '../runtime/turns.ts';
import { idempotencyNowMs, onceOf } from '../streams/append/idempotency-key.ts';
import type { UsedIdempotencyKey } from '../streams/log.ts';
import type { Telemetry } from '../telemetry.ts';
import type { Access } from './access.ts';
import { contentOf, ownerNamed, TENANT_STATUSES, type TenantRecord, type TenantSettings } from './tenants.ts';

export interface TenantOperationParts {
  readonly access: Pick<Access, 'tenants' | 'settingsVersions' | 'installation' | 'change'>;
  /** Whether anything was ever logged for a tenant. */
  readonly hasLogged: (tenantId: TenantId) => Promise<boolean>;
  readonly cursors: Cursors;
  readonly clock: Clock;
  readonly telemetry: Pick<Telemetry, 'info'>;
  /** Time that no jump of the wall clock moves; idempotency keys expire by it. */
  readonly steadyNowMs: () => number;
}

/** The number of attempts while others change the same tenant. */
const ATTEMPTS_MAX = 20;

export function createTenantOperations(parts: TenantOperationParts) {
  const { tenants } = parts.access;
  const turns = new KeyedQueue();
  const found = async (tenantId: TenantId): Promise<TenantRecord> => {
    const tenant = await tenants.find(tenantId);
    if (tenant === undefined) throw new AuditError('TENANT_NOT_FOUND', `There is no tenant ${tenantId}.`);
    return tenant;
  };
  const answerAgain = async (_: Call, { input }: Received, { note: version }: UsedIdempotencyKey) => {
    const tenant = await found(String(namedIn(input)));
    // The settings that the first answer showed.
    const noted = await parts.access.settingsVersions.version(tenant.tenantId, '', Number(version));
    return { kind: 'Repeated', body: showTenant({ ...tenant, ...noted }) } as const;
  };
  const writesTo = (_: Call, input: Received['input']) => ownerNamed(namedIn(input), tenants);
  return {
    'tenants.create': {
      async perform(
        call: Call,
        { tenant: request }: InputOf<'tenants.create'>,
      ): Promise<Answer<'tenants.create'>> {
        const { tenantId } = request;
        const there = await tenants.find(tenantId);
        const isTaken = there !== undefined && (there.version > 0 || (await parts.hasLogged(tenantId)));
        const tenant = isTaken ? undefined : await tenants.ensure(tenantId, parts.clock.now());
        // Another request may have made it since.
        const isNew = tenant?.version === 0;
        const made = isNew ? await put(call, tenant, settingsOf(tenant, request), parts) : undefined;
        if (made === undefined) throw duplicate(tenantId);
        return { kind: 'Created', body: showTenant(made) };
      },
      answerAgain,
      writesTo,
    },
    'tenants.replace': {
      async perform(
        call: Call,
        { tenantId, ifMatch, settings }: InputOf<'tenants.replace'>,
      ): Promise<Answer<'tenants.replace'>> {
        // Changes of this process run one after the other, so that they do not conflict with each other.
        return turns.take(tenantId, async () => {
          for (let attempt = 1; ; attempt++) {
            const tenant = await found(tenantId);
            requireMatch(ifMatch, tenant.version);
            if (tenant.isAltered === true) requireAll(settings);
            const changed = await put(call, tenant, settingsOf(tenant, settings), parts);
            if (changed !== undefined) return { kind: 'Done', body: showTenant(changed) };
            if (attempt === ATTEMPTS_MAX)
              throw new AuditError(
                'SERVICE_UNAVAILABLE',
                `The tenant ${tenantId} is being changed by others; try again.`,
              );
          }
        });
      },
      answerAgain,
      writesTo,
    },
    'tenants.get': async (_: Call, { tenantId }: InputOf<'tenants.get'>) =>
      ({ kind: 'Done', body: showTenant(await found(tenantId)) }) as const,
    'tenants.list': async (call: Call, input: InputOf<'tenants.list'>): Promise<Answer<'tenants.list'>> => {
      const states = input.status ?? TENANT_STATUSES;
      const scope = { operation: call.operation, tenantRecord: await parts.access.installation() };
      const read = readPage(parts.cursors, scope, input, isId);
      const rows = await tenants.page(inOrder(read), states);
      const { data, pagination } = read.page(rows, ({ tenantId }) => tenantId, await tenants.count(states));
      return { kind: 'Done', body: { data: data.map(showTenant), pagination } };
    },
  };
}

/** Undefined if another caller has changed it meanwhile. */
async function put(
  call: Call,
  tenant: TenantRecord,
  settings: TenantSettings,
  { access, clock, steadyNowMs, telemetry }: TenantOperationParts,
): Promise<TenantRecord | undefined> {
  const { tenantId: owner } = tenant;
  const { requestId, correlationId } = call.correlation;
  const version = tenant.version + 1;
  const updatedAtMs = clock.now();
  const write: RecordWrite = {
    kind: 'Tenant',
    id: '',
    version,
    content: contentOf(settings, updatedAtMs),
    notice: {
      kind: KINDS.administration,
      action: tenant.version === 0 ? 'Create.Tenant' : 'Update.Tenant',
      resource: { resourceType: 'Tenant', resourceId: owner },
      payload: { act: 'TenantChanged', requestId, subjectIds: [], count: 1 },
    },
  };
  // Report it before it is done, so that no change goes unseen.
  const { tier, status, region } = settings;
  telemetry.info('a tenant is changed', {
    tenant: owner,
    version,
    tier,
    status,
    region,
    requestId,
    caller: call.caller?.name,
  });
  const once = onceOf(call, tenant, idempotencyNowMs({ clock, steadyNowMs }), UNCLASSIFIED, `${version}`);
  const result = recordsOf(await access.change({ owner, writes: [write], correlationId, once }));
  return 'status' in result ? undefined : { ...tenant, ...settings, version, updatedAtMs, isAltered: false };
}

const SETTINGS = [
  'tier',
  'region',
  'status',
  'defaultClassification',
  'defaultRetention',
  'fourEyes',
] as const;

/** Of an altered record no setting can be kept: the usual ones in its place might protect less. */
function requireAll(update: TenantUpdate): void {
  const issue =
    'must be given: the record of the tenant was altered outside of the service, so no setting of it can be kept';
  const details = SETTINGS.filter((name) => update[name] === undefined).map((field) => ({ field, issue }));
  if (details.length > 0)
    throw new AuditError('VALIDATION_FAILED', `${details[0]!.field} ${issue}.`, { details });
}

type TenantUpdate = Partial<Omit<TenantSettings, 'region'>> & { readonly region?: string | null };

/** Members that were not sent stay as they are. */
function settingsOf(current: TenantSettings, request: TenantUpdate): TenantSettings {
  const {
    tier = current.tier,
    status = current.status,
    region = current.region,
    defaultClassification = current.defaultClassification,
    defaultRetention = current.defaultRetention,
    fourEyes = current.fourEyes,
  } = request;
  return { tier, status, region: region ?? undefined, defaultClassification, defaultRetention, fourEyes };
}

/** In the path, or in the body of one that is made. */
function namedIn({ tenantId, tenant }: Received['input']): unknown {
  return tenantId ?? receivedMember(tenant, 'tenantId');
}

function duplicate(tenantId: TenantId): AuditError {
  const issue = 'is the name of a tenant that is there';
  return new AuditError('DUPLICATE_NAME', `tenantId ${issue}: ${tenantId}.`, {
    details: [{ field: 'tenantId', issue, value: tenantId }],
  });
}

function showTenant(tenant: TenantRecord): Tenant {
  const { tenantId, tier, region, status, defaultClassification, defaultRetention, fourEyes } = tenant;
  return {
    tenantId,
    tier,
    ...(region !== undefined && { region }),
    status,
    defaultClassification,
    defaultRetention,
    fourEyes,
    version: tenant.version,
    createdAt: instant(tenant.createdAtMs),
    updatedAt: instant(tenant.updatedAtMs),
  };
}
