// The export of traces and metrics to a receiver that speaks OTLP over HTTP, such as the collector of OpenTelemetry. Loaded only where it is
// wanted: a service without it needs none of these packages, and does nothing for it.

import type { SpanExporter } from '@opentelemetry/sdk-trace';
import {
  AlwaysOffSampler,
  AlwaysOnSampler,
  BatchSpanProcessor,
  ParentBasedSampler,
  type Sampler,
  TraceIdRatioBasedSampler,
  TracerProvider,
} from '@opentelemetry/sdk-trace';
import {
  defaultResource,
  detectResources,
  envDetector,
  type Resource,
  resourceFromAttributes,
} from '@opentelemetry/resources';
import { type Clock, wait } from '../../runtime/clock.ts';
import type { Telemetry } from '../../telemetry.ts';
import type { SpanCounts, Tracing } from '../../telemetry/tracing.ts';
import { BoundedSpans } from './bounded-spans.ts';
import { createMetricExport, type MetricOptions, type MetricReadings } from './metric-export.ts';
import { OtelTracing } from './otel-tracing.ts';

export type Protocol = 'http/protobuf' | 'http/json';

export interface TraceOptions {
  readonly protocol: Protocol;
  readonly sampler: { readonly isParentBased: boolean; readonly ratio: number };
  readonly scheduleDelayMs: number;
  readonly exportTimeoutMs: number;
  readonly queueMax: number;
  readonly batchMax: number;
}

export interface OtelParts {
  readonly traces: TraceOptions | undefined;
  readonly metrics: MetricOptions | undefined;
  /** What the variables OTEL_SERVICE_NAME and OTEL_RESOURCE_ATTRIBUTES do not say otherwise. */
  readonly service: { readonly version: string; readonly node: string };
  readonly clock: Clock;
  readonly telemetry: Pick<Telemetry, 'warn' | 'info'>;
}

export interface OpenTelemetry extends AsyncDisposable {
  readonly tracing: Tracing | undefined;
  /** Undefined: nothing is traced. */
  readonly spans: (() => SpanCounts) | undefined;
  /** From now on metrics are read and sent, until what is returned is disposed: then nothing is read any more. */
  exportMetrics(readings: MetricReadings): AsyncDisposable;
}

/** How long a stop waits for the last spans and metrics to be taken. */
const FLUSH_MS_MAX = 5000;
const NAME = 'tallystick';

export async function startOpenTelemetry(parts: OtelParts): Promise<OpenTelemetry> {
  const { clock, telemetry, service } = parts;
  const resource = resourceOf(service);
  const traces = parts.traces === undefined ? undefined : await startTraces(parts.traces, parts, resource);
  const scope = { name: NAME, version: service.version };
  const metrics =
    parts.metrics === undefined
      ? undefined
      : await createMetricExport({ options: parts.metrics, resource, scope, clock, telemetry });
  return {
    tracing: traces?.tracing,
    spans: traces?.spans,
    exportMetrics(readings) {
      metrics?.start(readings);
      return { [Symbol.asyncDispose]: async () => metrics?.stopReading() };
    },
    async [Symbol.asyncDispose]() {
      const ended = Promise.all([traces?.provider.shutdown(), metrics?.ended()]);
      await within(FLUSH_MS_MAX, ended, clock, telemetry);
    },
  };
}

async function startTraces(
  options: TraceOptions,
  { service, clock, telemetry }: OtelParts,
  resource: Resource,
) {
  const spans = new BoundedSpans({ spansMax: options.queueMax, clock, telemetry });
  const queue = new BatchSpanProcessor({
    exporter: spans.around(await exporterOf(options.protocol)),
    scheduledDelayMillis: options.scheduleDelayMs,
    exportTimeoutMillis: options.exportTimeoutMs,
    maxQueueSize: options.queueMax,
    maxExportBatchSize: options.batchMax,
  });
  const provider = new TracerProvider({
    resource,
    sampler: samplerOf(options.sampler),
    spanProcessors: [spans.before(queue)],
  });
  const tracing = new OtelTracing(provider.getTracer(NAME, service.version));
  return { provider, tracing, spans: () => spans.counts() };
}

function resourceOf({ version, node }: OtelParts['service']): Resource {
  return defaultResource()
    .merge(
      resourceFromAttributes({
        'service.name': NAME,
        'service.version': version,
        'service.instance.id': node,
      }),
    )
    .merge(detectResources({ detectors: [envDetector] }));
}

function samplerOf({ isParentBased, ratio }: TraceOptions['sampler']): Sampler {
  const root =
    ratio === 1
      ? new AlwaysOnSampler()
      : ratio === 0
        ? new AlwaysOffSampler()
        : new TraceIdRatioBasedSampler(ratio);
  return isParentBased ? new ParentBasedSampler({ root }) : root;
}

/** They read the endpoint, headers, timeout, compression and certificates from the environment by themselves. */
async function exporterOf(protocol: Protocol): Promise<SpanExporter> {
  const { OTLPTraceExporter } =
    protocol === 'http/json'
      ? await import('@opentelemetry/exporter-trace-otlp-http')
      : await import('@opentelemetry/exporter-trace-otlp-proto');
  return new OTLPTraceExporter();
}

async function within(
  ms: number,
  work: Promise<unknown>,
  clock: Clock,
  telemetry: Pick<Telemetry, 'warn'>,
): Promise<void> {
  const isDone = await Promise.race([
    work.then(
      () => true,
      () => true,
    ),
    wait(clock, ms).then(() => false),
  ]);
  if (!isDone) telemetry.warn('the last traces or metrics were not taken in time', { afterMs: ms });
}
