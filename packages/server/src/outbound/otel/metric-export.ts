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
import type { Clock } from '../../runtime/clock.ts';
import { waitFor } from '../../runtime/deadline.ts';
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

export interface MetricReadings {
  /** The store is asked for some. */
  readonly all: () => Promise<readonly Metric[]>;
  /** Those that the process knows by itself: they are sent where the store does not answer. */
  readonly own: () => Promise<readonly Metric[]>;
}

export interface MetricExport {
  /** Begins to send what is read. */
  start(readings: MetricReadings): void;
  /** Reads for the last time and resolves when that is done, or takes too long; no reading begins afterwards. */
  stopReading(): Promise<void>;
  /** Resolves when the last metrics are sent, or cannot be. */
  ended(): Promise<void>;
}

/** A database that does not answer must not hold up the stop. */
const LAST_READING_MS_MAX = 1000;

export async function createMetricExport(parts: MetricExportParts): Promise<MetricExport> {
  const { options, resource } = parts;
  const exporter = await exporterOf(parts);
  const stop = new AbortController();
  let provider: MeterProvider | undefined;
  let collecting: Promise<unknown> = Promise.resolve();
  let sending: Promise<void> = Promise.resolve();
  return {
    start(readings) {
      const producer = producerOf(parts, readings, stop.signal);
      const noted: MetricProducer = {
        collect: (options) => {
          const collected = producer.collect(options);
          collecting = collected;
          return collected;
        },
      };
      const reader = new PeriodicExportingMetricReader({
        exporter,
        exportIntervalMillis: options.intervalMs,
        exportTimeoutMillis: options.timeoutMs,
        metricProducers: [noted],
      });
      provider = new MeterProvider({ resource, readers: [reader] });
    },
    async stopReading() {
      stop.abort();
      sending = provider?.shutdown().catch(() => {}) ?? sending;
      // The SDK asks in a turn of its own.
      await new Promise((resolve) => setImmediate(resolve));
      await collecting;
    },
    ended: () => sending,
  };
}

function producerOf(
  { clock, telemetry, options, resource, scope }: MetricExportParts,
  readings: MetricReadings,
  stop: AbortSignal,
): MetricProducer {
  const beganMs = clock.now();
  const told = new ToldFailures('metrics of the store', { clock, telemetry });
  // Half of the time is for sending.
  const timeoutMs = options.timeoutMs / 2;
  const tooLate = () => new Error('they were not read in time');
  /** Begun once and waited for again: readings that hang must not pile up in the database. */
  let underWay: Promise<readonly Metric[]> | undefined;
  const read = async () => {
    try {
      underWay ??= readings.all().finally(() => (underWay = undefined));
      const metrics = await waitFor(underWay, clock, {
        timeoutMs,
        tooLate,
        stop,
        lastMs: LAST_READING_MS_MAX,
      });
      told.succeeded();
      return metrics;
    } catch (error) {
      told.failed(error instanceof Error ? error : new Error(String(error)));
      return readings.own().catch(() => []);
    }
  };
  return {
    async collect() {
      const data = metricData(await read(), { beganMs, nowMs: clock.now() });
      return { resourceMetrics: { resource, scopeMetrics: [{ scope, metrics: data }] }, errors: [] };
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
