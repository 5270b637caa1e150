// What the OTEL_ variables of OpenTelemetry say of traces and metrics. They are the names that every program has in common, so
// they are no settings of ours; those that the exporters read by themselves (endpoint, headers, timeout, compression,
// certificates) are judged and left to them, and so are those of the resource. Nothing is exported unless a receiver is named.

import { ConfigError } from './config-error.ts';
import { receiverProblems, refusal, type Signal, type Variables } from './otel-receiver.ts';

export type OtelProtocol = 'http/protobuf' | 'http/json';

export interface OtelSampler {
  /** Whether the decision of the sender of a request holds. */
  readonly isParentBased: boolean;
  /** Of traces that begin here. */
  readonly ratio: number;
}

export interface OtelTraces {
  readonly protocol: OtelProtocol;
  readonly sampler: OtelSampler;
  readonly scheduleDelayMs: number;
  readonly exportTimeoutMs: number;
  /** Of spans that are not exported yet. */
  readonly queueMax: number;
  readonly batchMax: number;
}

export interface OtelMetrics {
  readonly protocol: OtelProtocol;
  readonly intervalMs: number;
  readonly timeoutMs: number;
}

export interface OtelSettings {
  readonly traces: OtelTraces | undefined;
  readonly metrics: OtelMetrics | undefined;
}

const SAMPLERS = [
  'always_on',
  'always_off',
  'traceidratio',
  'parentbased_always_on',
  'parentbased_always_off',
  'parentbased_traceidratio',
] as const;
const PROTOCOLS = ['http/protobuf', 'http/json'] as const;
const EXPORTERS = ['otlp', 'none'] as const;
const MS_MAX = 2 ** 31 - 1;

/** Undefined: nothing is to be exported. Throws ConfigError. */
export function readOtelSettings(variables: Variables): OtelSettings | undefined {
  const reader = new Reader(variables);
  if (reader.text('OTEL_SDK_DISABLED')?.toLowerCase() === 'true') return undefined;
  const traces = reader.isWanted('TRACES') ? tracesOf(reader) : undefined;
  const metrics = reader.isWanted('METRICS') ? metricsOf(reader) : undefined;
  const wanted: Signal[] = [];
  if (traces !== undefined) wanted.push('TRACES');
  if (metrics !== undefined) wanted.push('METRICS');
  reader.problems.push(...receiverProblems(variables, wanted));
  if (reader.problems.length > 0) throw new ConfigError(reader.problems);
  return traces === undefined && metrics === undefined ? undefined : { traces, metrics };
}

function tracesOf(reader: Reader): OtelTraces {
  const queueMax = reader.whole('OTEL_BSP_MAX_QUEUE_SIZE', 1, 1_000_000, 2048);
  return {
    protocol: reader.protocol('TRACES'),
    sampler: samplerOf(reader),
    scheduleDelayMs: reader.whole('OTEL_BSP_SCHEDULE_DELAY', 0, MS_MAX, 5000),
    exportTimeoutMs: reader.whole('OTEL_BSP_EXPORT_TIMEOUT', 1, MS_MAX, 30_000),
    queueMax,
    batchMax: Math.min(queueMax, reader.whole('OTEL_BSP_MAX_EXPORT_BATCH_SIZE', 1, 1_000_000, 512)),
  };
}

function metricsOf(reader: Reader): OtelMetrics {
  const intervalMs = reader.whole('OTEL_METRIC_EXPORT_INTERVAL', 1, MS_MAX, 60_000);
  const timeoutMs = reader.whole('OTEL_METRIC_EXPORT_TIMEOUT', 1, MS_MAX, 30_000);
  return { protocol: reader.protocol('METRICS'), intervalMs, timeoutMs: Math.min(timeoutMs, intervalMs) };
}

function samplerOf(reader: Reader): OtelSampler {
  const name = reader.choice('OTEL_TRACES_SAMPLER', SAMPLERS) ?? 'parentbased_always_on';
  const root = name.replace('parentbased_', '');
  const ratio =
    root === 'traceidratio' ? reader.ratio('OTEL_TRACES_SAMPLER_ARG') : root === 'always_on' ? 1 : 0;
  return { isParentBased: name !== root, ratio };
}

/** An empty variable is as good as none, as the specification of OpenTelemetry has it. */
class Reader {
  readonly problems: string[] = [];
  readonly #variables: Variables;

  constructor(variables: Variables) {
    this.#variables = variables;
  }

  text(name: string): string | undefined {
    const value = this.#variables[name]?.trim();
    return value === '' ? undefined : value;
  }

  isWanted(signal: Signal): boolean {
    const exporter = this.choice(`OTEL_${signal}_EXPORTER`, EXPORTERS);
    if (exporter !== undefined) return exporter === 'otlp';
    const names = ['OTEL_EXPORTER_OTLP_ENDPOINT', `OTEL_EXPORTER_OTLP_${signal}_ENDPOINT`];
    return names.some((name) => this.text(name) !== undefined);
  }

  protocol(signal: Signal): OtelProtocol {
    return (
      this.choice(`OTEL_EXPORTER_OTLP_${signal}_PROTOCOL`, PROTOCOLS) ??
      this.choice('OTEL_EXPORTER_OTLP_PROTOCOL', PROTOCOLS) ??
      'http/protobuf'
    );
  }

  choice<const T extends string>(name: string, options: readonly T[]): T | undefined {
    const value = this.text(name);
    if (value === undefined) return undefined;
    const chosen = options.find((option) => option === value);
    if (chosen === undefined) this.#refuse(name, value, `one of ${options.join(', ')}`);
    return chosen;
  }

  whole(name: string, min: number, max: number, otherwise: number): number {
    const value = this.text(name);
    if (value === undefined) return otherwise;
    const number = /^\d{1,10}$/.test(value) ? Number(value) : Number.NaN;
    if (number >= min && number <= max) return number;
    this.#refuse(name, value, `a whole number from ${min} to ${max}`);
    return otherwise;
  }

  ratio(name: string): number {
    const value = this.text(name);
    if (value === undefined) return 1;
    const number = /^(\d+(\.\d+)?|\.\d+)$/.test(value) ? Number(value) : Number.NaN;
    if (number >= 0 && number <= 1) return number;
    this.#refuse(name, value, 'a number from 0 to 1');
    return 1;
  }

  #refuse(name: string, value: string, allowed: string): void {
    this.problems.push(refusal(name, value, allowed));
  }
}
