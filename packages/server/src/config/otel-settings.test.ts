import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ConfigError } from './config-error.ts';
import { readOtelSettings } from './otel-settings.ts';

const ENDPOINT = { OTEL_EXPORTER_OTLP_ENDPOINT: 'http://127.0.0.1:4318' };

test('nothing is exported unless a receiver is named', () => {
  const wanted = (variables: Record<string, string>) => {
    const settings = readOtelSettings(variables);
    return [settings?.traces !== undefined, settings?.metrics !== undefined];
  };
  assert.deepEqual(wanted({}), [false, false]);
  assert.deepEqual(wanted({ OTEL_SERVICE_NAME: 'x', OTEL_TRACES_SAMPLER: 'always_on' }), [false, false]);
  assert.deepEqual(wanted({ OTEL_EXPORTER_OTLP_ENDPOINT: ' ' }), [false, false]);
  assert.deepEqual(wanted(ENDPOINT), [true, true]);
  assert.deepEqual(wanted({ ...ENDPOINT, OTEL_SDK_DISABLED: 'TRUE' }), [false, false]);
  assert.deepEqual(wanted({ ...ENDPOINT, OTEL_METRICS_EXPORTER: 'none' }), [true, false]);
  assert.deepEqual(wanted({ OTEL_TRACES_EXPORTER: 'otlp' }), [true, false]);
  assert.deepEqual(wanted({ OTEL_EXPORTER_OTLP_METRICS_ENDPOINT: 'http://x' }), [false, true]);
});

test('what is not said is as the specification of OpenTelemetry has it', () => {
  assert.deepEqual(readOtelSettings(ENDPOINT), {
    traces: {
      protocol: 'http/protobuf',
      sampler: { isParentBased: true, ratio: 1 },
      scheduleDelayMs: 5000,
      exportTimeoutMs: 30_000,
      queueMax: 2048,
      batchMax: 512,
    },
    metrics: { protocol: 'http/protobuf', intervalMs: 60_000, timeoutMs: 30_000 },
  });
});

test('what is said holds, and what cannot hold together is made to fit', () => {
  const { traces, metrics } = readOtelSettings({
    ...ENDPOINT,
    OTEL_EXPORTER_OTLP_PROTOCOL: 'http/json',
    OTEL_EXPORTER_OTLP_METRICS_PROTOCOL: 'http/protobuf',
    OTEL_TRACES_SAMPLER: 'traceidratio',
    OTEL_TRACES_SAMPLER_ARG: '.25',
    OTEL_BSP_MAX_QUEUE_SIZE: '100',
    OTEL_METRIC_EXPORT_INTERVAL: '1000',
  })!;
  assert.deepEqual([traces?.protocol, metrics?.protocol], ['http/json', 'http/protobuf']);
  assert.deepEqual(traces?.sampler, { isParentBased: false, ratio: 0.25 });
  assert.deepEqual([traces?.queueMax, traces?.batchMax], [100, 100]);
  assert.deepEqual([metrics?.intervalMs, metrics?.timeoutMs], [1000, 1000]);
  const sampled = (name: string) =>
    readOtelSettings({ ...ENDPOINT, OTEL_TRACES_SAMPLER: name })?.traces?.sampler;
  assert.deepEqual(sampled('always_off'), { isParentBased: false, ratio: 0 });
  assert.deepEqual(sampled('parentbased_always_off'), { isParentBased: true, ratio: 0 });
  assert.deepEqual(sampled('parentbased_traceidratio'), { isParentBased: true, ratio: 1 });
});

test('everything that is wrong is named at once, with what is allowed', () => {
  const wrong = {
    OTEL_TRACES_EXPORTER: 'otlp',
    OTEL_METRICS_EXPORTER: 'prometheus',
    OTEL_EXPORTER_OTLP_PROTOCOL: 'grpc',
    OTEL_TRACES_SAMPLER: 'jaeger_remote',
    OTEL_BSP_SCHEDULE_DELAY: '-1',
  };
  assert.throws(
    () => readOtelSettings(wrong),
    (error: unknown) => {
      assert.ok(error instanceof ConfigError);
      assert.deepEqual(error.problems.toSorted(), [
        'OTEL_BSP_SCHEDULE_DELAY is "-1"; allowed: a whole number from 0 to 2147483647',
        'OTEL_EXPORTER_OTLP_PROTOCOL is "grpc"; allowed: one of http/protobuf, http/json',
        'OTEL_METRICS_EXPORTER is "prometheus"; allowed: one of otlp, none',
        'OTEL_TRACES_SAMPLER is "jaeger_remote"; allowed: one of always_on, always_off, traceidratio, ' +
          'parentbased_always_on, parentbased_always_off, parentbased_traceidratio',
      ]);
      return true;
    },
  );
  for (const arg of ['1.5', 'x', '-0.1'])
    assert.throws(
      () =>
        readOtelSettings({ ...ENDPOINT, OTEL_TRACES_SAMPLER: 'traceidratio', OTEL_TRACES_SAMPLER_ARG: arg }),
      { message: `OTEL_TRACES_SAMPLER_ARG is "${arg}"; allowed: a number from 0 to 1` },
    );
});
