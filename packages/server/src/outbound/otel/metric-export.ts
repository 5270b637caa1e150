// Sends the metrics of the process every minute or so. They are read from where /metrics reads them, so that nothing is counted
// twice; the SDK only keeps the time and sends them.

import type { Resource } from '@opentelemetry/resources';
import { ExportResultCode } from '@opentelemetry/core';
import {
  MeterProvider,
  type MetricProducer,
  PeriodicExportingMetricReader,
  type PushMetricExporter,
} from '@opentelemetry/sdk-metrics';
import type { Metric } from '@tallystick/contract';
import { type Clock, wait } from '../../runtime/clock.ts';
import { metricData } from './metric-data.ts';
import { type TellingParts, ToldFailures } from './told-failures.ts';

export interface MetricOptions {
  readonly protocol: 'http/protobuf' | 'http/json';
  readonly intervalMs: number;
  readonly timeoutMs: number;
}

export interface MetricExportParts extends TellingParts {
  readonly options: MetricOptions;
  readonly resource: Resource;
  readonly scope: { readonly name: string; readonly version: string };
  readonly clock: Clock;
}

export interface MetricExport {
  /** Begins to send what is read. */
  start(read: () => Promise<readonly Metric[]>): void;
  /** Reads for the last time and resolves when that is done, or takes too long; no reading begins afterwards. */
  stopReading(): Promise<void>;
  /** Resolves when the last metrics are sent, or cannot be. */
  ended(): Promise<void>;
}

const LAST_READING_MS_MAX = 1000;

export async function createMetricExport(parts: MetricExportParts): Promise<MetricExport> {
  const { options, resource, clock } = parts;
  const exporter = await exporterOf(parts);
  let provider: MeterProvider | undefined;
  let reading: Promise<unknown> = Promise.resolve();
  let sending: Promise<void> = Promise.resolve();
  return {
    start(read) {
      const onReading = (begun: Promise<unknown>) => void (reading = begun);
      const producer = producerOf(parts, onReading, read);
      const reader = new PeriodicExportingMetricReader({
        exporter,
        exportIntervalMillis: options.intervalMs,
        exportTimeoutMillis: options.timeoutMs,
        metricProducers: [producer],
      });
      provider = new MeterProvider({ resource, readers: [reader] });
    },
    async stopReading() {
      sending = provider?.shutdown().catch(() => {}) ?? sending;
      // The SDK asks in a turn of its own.
      await new Promise((resolve) => setImmediate(resolve));
      // A database that does not answer must not hold up the stop.
      await Promise.race([reading, wait(clock, LAST_READING_MS_MAX)]);
    },
    ended: () => sending,
  };
}

function producerOf(
  { clock, resource, scope }: MetricExportParts,
  onReading: (reading: Promise<unknown>) => void,
  read: () => Promise<readonly Metric[]>,
): MetricProducer {
  const beganMs = clock.now();
  return {
    async collect() {
      const reading = read().then(
        (metrics) => ({ metrics, errors: [] }),
        (error: unknown) => ({ metrics: [], errors: [error] }),
      );
      onReading(reading);
      const { metrics, errors } = await reading;
      const data = metricData(metrics, { beganMs, nowMs: clock.now() });
      return { resourceMetrics: { resource, scopeMetrics: [{ scope, metrics: data }] }, errors };
    },
  };
}

/** A failure ends here: the SDK would only tell it to a handler of its own. */
async function exporterOf({ options, ...telling }: MetricExportParts): Promise<PushMetricExporter> {
  const { OTLPMetricExporter } =
    options.protocol === 'http/json'
      ? await import('@opentelemetry/exporter-metrics-otlp-http')
      : await import('@opentelemetry/exporter-metrics-otlp-proto');
  const exporter = new OTLPMetricExporter();
  const told = new ToldFailures('metrics', telling);
  return {
    export: (metrics, done) =>
      exporter.export(metrics, ({ code, error }) => {
        if (code === ExportResultCode.SUCCESS) told.succeeded();
        else told.failed(error);
        done({ code: ExportResultCode.SUCCESS });
      }),
    forceFlush: () => exporter.forceFlush(),
    shutdown: () => exporter.shutdown(),
  };
}
