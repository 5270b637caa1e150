// How the service is: the health report of probes, the status of its parts, and its figures.

import type { Static } from 'typebox';
import { arrayOf, choice, doc, mapOf, object, optional, VERSIONS } from '../schema.ts';
import { Type } from '../type.ts';
import { Count, Duration, Instant, Milliseconds, Sequence, TimeSpan } from './primitives.ts';

export const HealthStatus = choice(
  'HealthStatus',
  'Degraded: works, but impaired. Unhealthy: take it out of service.',
  ['Healthy', 'Degraded', 'Unhealthy'],
);

export type HealthEntry = Static<typeof HealthEntry>;
export const HealthEntry = object('HealthEntry', 'One check.', {
  status: HealthStatus,
  description: optional(Type.String()),
  duration: optional(TimeSpan),
  exception: optional(Type.String({ description: 'A class of error, never a message.' })),
});

export type HealthReport = Static<typeof HealthReport>;
export const HealthReport = object('HealthReport', 'The worst of its checks decides.', {
  status: HealthStatus,
  totalDuration: TimeSpan,
  entries: mapOf(HealthEntry, { description: 'By name: `log`, `views`, `webhooks`, `exports`, `storage`.' }),
});

export type Percentiles = Static<typeof Percentiles>;
export const Percentiles = object('Percentiles', 'In milliseconds, over the last minutes.', {
  p50: Milliseconds,
  p95: Milliseconds,
  p99: Milliseconds,
});

export type ServiceLevelName = Static<typeof ServiceLevelName>;
export const ServiceLevelName = choice('ServiceLevelName', 'A level that the service is judged by.', [
  'Availability',
  'IngestLatencyP95',
  'IngestLatencyP99',
  'QueryLatencyP95',
  'QueryLatencyP99',
  'ProjectionLagP95',
  'ProjectionLagP99',
]);

export type ServiceLevel = Static<typeof ServiceLevel>;
export const ServiceLevel = object('ServiceLevel', 'A level of service, and whether it holds.', {
  name: ServiceLevelName,
  unit: choice('ServiceLevelUnit', '`Ratio`: of requests that did not fail.', ['Ratio', 'Milliseconds']),
  target: doc(Type.Number(), 'A ratio is to be at least this, a time below it.'),
  window: doc(Duration, 'What it is measured over, up to now.'),
  current: optional(doc(Type.Number(), 'Absent: too few requests to judge by.')),
  holds: optional(doc(Type.Boolean(), 'Absent with `current`.')),
});

export type ServiceIndicators = Static<typeof ServiceIndicators>;
export const ServiceIndicators = object('ServiceIndicators', 'The figures by which the service is judged.', {
  ingestLatencyMs: Percentiles,
  queryLatencyMs: Percentiles,
  projectionLagMs: Milliseconds,
  deadLetters: Count,
  eventsAccepted: optional(Count),
  deliveriesWaiting: optional(Count),
  exportsWaiting: optional(Count),
});

export type ProjectionStatus = Static<typeof ProjectionStatus>;
export const ProjectionStatus = object('ProjectionStatus', 'How far a projection has come.', {
  name: Type.String(),
  generation: optional(doc(Type.Integer({ minimum: 1 }), 'How many times it was made, for one tenant.')),
  position: optional(doc(Sequence, 'The last event in it, for one tenant.')),
  lagMs: Milliseconds,
  rebuilding: Type.Boolean(),
});

export const LifecycleState = choice(
  'LifecycleState',
  'Deprecated: served with warnings. Sunset: reads only. Retired: removed.',
  ['Active', 'Deprecated', 'Sunset', 'Retired'],
);

export type ApiVersionStatus = Static<typeof ApiVersionStatus>;
export const ApiVersionStatus = object('ApiVersionStatus', 'A major version and where it is in its life.', {
  version: choice('ApiVersion', 'A major version.', VERSIONS),
  state: LifecycleState,
  deprecationDate: optional(Instant),
  sunsetDate: optional(Instant),
});

export type NodeStatus = Static<typeof NodeStatus>;
export const NodeStatus = object('NodeStatus', 'A process that serves from the same database.', {
  name: Type.String({ description: 'Its `Node__Name`.' }),
  version: Type.String(),
  startedAt: Instant,
  lastSeenAt: Instant,
  status: choice('NodeState', '`Gone`: not heard of for so long that others look after its logs.', [
    'Serving',
    'Gone',
  ]),
  shares: Type.Integer({
    description: 'How many of the shares into which all logs are divided it looks after.',
  }),
  isSelf: Type.Boolean({ description: 'It is the one that answers.' }),
});

export type ServiceStatus = Static<typeof ServiceStatus>;
export const ServiceStatus = object(
  'ServiceStatus',
  'The service in detail, as far as it concerns the tenant.',
  {
    status: HealthStatus,
    version: Type.String(),
    commit: optional(Type.String({ description: 'Of the sources, where the package says it.' })),
    startedAt: Instant,
    uptime: Duration,
    components: mapOf(HealthEntry),
    projections: arrayOf(ProjectionStatus),
    metrics: ServiceIndicators,
    serviceLevels: Type.Array(ServiceLevel, {
      description:
        'By the requests of the tenant; for platform callers by all that this process has answered, with the lag of projections.',
    }),
    apiVersions: arrayOf(ApiVersionStatus),
    nodes: optional(
      Type.Array(NodeStatus, {
        description: 'Present where several nodes may serve from one database, for platform callers.',
      }),
    ),
  },
);

export type MetricSample = Static<typeof MetricSample>;
export const MetricSample = object('MetricSample', 'One value of a metric.', {
  suffix: optional(Type.String({ description: 'Of a histogram: `_bucket`, `_sum`, `_count`.' })),
  labels: mapOf(Type.String()),
  value: Type.Number(),
});

export type Metric = Static<typeof Metric>;
export const Metric = object('Metric', 'A metric as Prometheus knows it.', {
  name: Type.String(),
  type: choice('MetricType', 'Its kind.', ['Counter', 'Gauge', 'Histogram', 'Summary']),
  help: Type.String(),
  samples: arrayOf(MetricSample),
});

export type MetricsReport = Static<typeof MetricsReport>;
export const MetricsReport = object('MetricsReport', 'All figures at one moment.', {
  collectedAt: Instant,
  indicators: ServiceIndicators,
  metrics: arrayOf(Metric),
});
