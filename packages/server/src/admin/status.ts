// The operations that tell how the service is: its status, its figures as data, and the same as text for Prometheus. A
// tenant's caller sees that tenant alone. A platform caller sees the process, for every tenant that the request may name.

import { ok as assert } from 'node:assert/strict';
import type {
  Answer,
  ApiVersionStatus,
  Metric,
  NodeStatus,
  ProjectionStatus,
  ServiceStatus,
  TenantId,
  Version,
} from '@tallystick/contract';
import type { Call } from '../call.ts';
import type { Membership } from '../nodes/membership.ts';
import type { NodeState } from '../nodes/nodes.ts';
import { type Clock, instant } from '../runtime/clock.ts';
import { formatDuration } from '../runtime/time-span.ts';
import type { DeadLetterCounts } from './dead-letters.ts';
import type { Health } from './health.ts';
import type { Levels } from './levels.ts';
import type { Meter } from './meter.ts';
import { type DeliveryFigures, type Figures, indicatorsOf } from './metrics.ts';
import { type KnownFigures, processMetrics, type ProcessParts } from './process-metrics.ts';
import type { ProjectionFigures, Projections } from './projections.ts';
import { PROMETHEUS_TYPE, prometheusText } from './prometheus-text.ts';
import type { UsageMetrics } from './process-usage-metrics.ts';
import { tenantMetrics, type TenantLogParts } from './tenant-metrics.ts';

type VersionState = Omit<ApiVersionStatus, 'version' | 'deprecationDate' | 'sunsetDate'> & {
  readonly deprecationDate: string | undefined;
  readonly sunsetDate: string | undefined;
};

export interface DeliveryCounts {
  readonly ofTenant: (tenant: TenantId) => Promise<DeliveryFigures>;
  readonly ofAll: () => Promise<DeliveryFigures>;
}

export interface StatusParts
  extends Omit<ProcessParts, 'startedAtMs' | 'checkpointer' | 'watches'>,
    TenantLogParts {
  readonly clock: Clock;
  readonly health: Pick<Health, 'report'>;
  readonly meter: Meter;
  readonly checkpointer: ProcessParts['checkpointer'] & TenantLogParts['checkpointer'];
  readonly watches: ProcessParts['watches'] & { readonly levels: Levels };
  readonly projections: Projections;
  readonly deadLetters: DeadLetterCounts;
  readonly deliveries: DeliveryCounts;
  readonly versionStates: Readonly<Record<Version, VersionState>>;
  readonly membership: Pick<Membership, 'nodes'>;
  readonly usage: Pick<UsageMetrics, 'read'>;
}

interface Started {
  readonly startedAtMs: number;
  readonly startedNs: number;
}

/** Reads the metrics of the process. */
export interface MetricReadings {
  /** The store is asked for some. */
  readonly all: () => Promise<Metric[]>;
  /** Those that the process knows by itself. */
  readonly own: () => Promise<Metric[]>;
}

/** Make it when the service starts: the uptime counts from then on. */
export function createStatus(parts: StatusParts) {
  const started = { startedAtMs: parts.clock.now(), startedNs: parts.clock.monotonicNs() };
  const ofProcess = async (figures: KnownFigures): Promise<Metric[]> =>
    processMetrics(figures, { ...parts, ...started }, await parts.usage.read());
  const readings: MetricReadings = {
    all: async () => ofProcess(await processFigures(parts)),
    own: () => ofProcess({ work: parts.meter.ofProcess() }),
  };
  return { readings, operations: operationsOf(parts, started, ofProcess, readings) };
}

function operationsOf(
  parts: StatusParts,
  started: Started,
  ofProcess: (figures: Figures) => Promise<Metric[]>,
  readings: MetricReadings,
) {
  const { clock } = parts;
  return {
    'status.get': async (call: Call): Promise<Answer<'status.get'>> => ({
      kind: 'Done',
      body: await statusFor(call, parts, started),
    }),
    'metrics.get': async (call: Call): Promise<Answer<'metrics.get'>> => {
      const figures = await figuresFor(call, parts);
      const metrics = isPlatform(call)
        ? await ofProcess(figures)
        : await tenantMetrics(tenantOf(call), figures, parts);
      return {
        kind: 'Done',
        body: { collectedAt: instant(clock.now()), indicators: indicatorsOf(figures), metrics },
        alsoAs: { 'text/plain': () => prometheusText(metrics) },
      };
    },
    'process.metrics': async (): Promise<Answer<'process.metrics'>> => ({
      kind: 'Done',
      body: {
        mediaType: PROMETHEUS_TYPE,
        bytes: new TextEncoder().encode(prometheusText(await readings.all())),
      },
    }),
  };
}

/** Whether the caller may see figures of all tenants. */
function isPlatform({ caller }: Call): boolean {
  return caller !== undefined && caller.refusal('audit.platform.manage') === undefined;
}

function tenantOf({ tenant }: Call): TenantId {
  assert(tenant !== undefined, 'a status is asked for in a tenant');
  return tenant;
}

function figuresFor(call: Call, parts: StatusParts): Promise<Figures> {
  return isPlatform(call) ? processFigures(parts) : tenantFigures(tenantOf(call), parts);
}

async function processFigures({
  meter,
  projections,
  deadLetters,
  deliveries,
}: StatusParts): Promise<Figures> {
  return {
    work: meter.ofProcess(),
    projections: await projections.ofAll(),
    deadLetters: await deadLetters.ofAll(),
    deliveries: await deliveries.ofAll(),
  };
}

async function tenantFigures(
  tenant: TenantId,
  { meter, projections, deadLetters, deliveries }: StatusParts,
): Promise<Figures> {
  return {
    work: meter.ofTenant(tenant),
    projections: await projections.ofTenant(tenant),
    deadLetters: await deadLetters.ofTenant(tenant),
    deliveries: await deliveries.ofTenant(tenant),
  };
}

async function statusFor(
  call: Call,
  parts: StatusParts,
  { startedAtMs, startedNs }: Started,
): Promise<ServiceStatus> {
  const { clock, health, build, watches, versionStates, membership } = parts;
  const { levels } = watches;
  const nodes = isPlatform(call) ? membership.nodes() : [];
  const [{ status, entries }, figures] = await Promise.all([health.report(), figuresFor(call, parts)]);
  return {
    status,
    version: build.version,
    ...(build.commit === undefined ? {} : { commit: build.commit }),
    startedAt: instant(startedAtMs),
    uptime: formatDuration(Math.floor((clock.monotonicNs() - startedNs) / 1e9) * 1000),
    components: entries,
    projections: figures.projections.map(projectionOf),
    metrics: indicatorsOf(figures),
    serviceLevels: [...(isPlatform(call) ? levels.ofProcess() : levels.ofTenant(tenantOf(call)))],
    apiVersions: [versionOf('v1', versionStates.v1), versionOf('v2', versionStates.v2)],
    ...(nodes.length === 0 ? {} : { nodes: nodes.map(nodeOf) }),
  };
}

function nodeOf({ name, version, startedAtMs, seenAtMs, isGone, shares, isSelf }: NodeState): NodeStatus {
  return {
    name,
    version,
    startedAt: instant(startedAtMs),
    lastSeenAt: instant(seenAtMs),
    status: isGone ? 'Gone' : 'Serving',
    shares,
    isSelf,
  };
}

function projectionOf({
  name,
  generation,
  position,
  lagMs,
  rebuilding,
}: ProjectionFigures): ProjectionStatus {
  return {
    name,
    ...(generation === undefined ? {} : { generation }),
    ...(position === undefined ? {} : { position }),
    lagMs,
    rebuilding,
  };
}

/** Settings may have a date alone, which is its first moment. */
function versionOf(version: Version, { state, deprecationDate, sunsetDate }: VersionState): ApiVersionStatus {
  return {
    version,
    state,
    ...(deprecationDate === undefined ? {} : { deprecationDate: instant(Date.parse(deprecationDate)) }),
    ...(sunsetDate === undefined ? {} : { sunsetDate: instant(Date.parse(sunsetDate)) }),
  };
}
