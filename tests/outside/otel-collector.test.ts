// Traces and metrics, taken by the collector of OpenTelemetry in both encodings. Its builder makes one with the receiver `otlp`, the
// exporter `debug` and the providers `env` and `file`: https://opentelemetry.io/docs/collector/extend/ocb/.

import assert from 'node:assert/strict';
import { spawn, spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { it, type TestContext } from 'node:test';
import { serve } from '../../packages/cli/src/testing/command.ts';
import { EVENT } from '../../packages/server/src/testing/bound-operations.ts';
import { freePort } from '../../packages/server/src/testing/free-port.ts';
import { until } from '../../packages/server/src/testing/until.ts';

const COLLECTOR = ['otelcol', 'otelcol-contrib'].find(
  (command) => spawnSync(command, ['--version']).error === undefined,
);
const skip = COLLECTOR === undefined ? 'there is no collector of OpenTelemetry on this machine' : false;
const KEY = 'the-platform-key-of-these-tests';

const configFor = (port: number) => ({
  receivers: { otlp: { protocols: { http: { endpoint: `127.0.0.1:${port}` } } } },
  exporters: { debug: { verbosity: 'detailed' } },
  service: {
    telemetry: { metrics: { level: 'none' } },
    pipelines: {
      traces: { receivers: ['otlp'], exporters: ['debug'] },
      metrics: { receivers: ['otlp'], exporters: ['debug'] },
    },
  },
});

/** All that it has said so far. */
async function startCollector(port: number, t: TestContext): Promise<() => string> {
  const folder = mkdtempSync(join(tmpdir(), 'tallystick-otelcol-'));
  const file = join(folder, 'config.yaml');
  // JSON is YAML.
  writeFileSync(file, JSON.stringify(configFor(port)));
  const collector = spawn(COLLECTOR!, ['--config', `file:${file}`], { stdio: ['ignore', 'ignore', 'pipe'] });
  let said = '';
  collector.stderr.on('data', (chunk: Buffer) => (said += chunk.toString()));
  const ended = new Promise((resolve) => collector.once('exit', resolve));
  t.after(async () => {
    collector.kill('SIGKILL');
    await ended;
    rmSync(folder, { recursive: true, force: true });
  });
  await until(() => said.includes('Everything is ready'));
  return () => said;
}

for (const protocol of ['http/protobuf', 'http/json'])
  it(`the collector takes traces and metrics as ${protocol}`, { skip }, async (t) => {
    const port = await freePort();
    const said = await startCollector(port, t);
    await using service = await serve({
      env: {
        TALLYSTICK_ADMIN_KEY: KEY,
        OTEL_EXPORTER_OTLP_ENDPOINT: `http://127.0.0.1:${port}`,
        OTEL_EXPORTER_OTLP_PROTOCOL: protocol,
        OTEL_EXPORTER_OTLP_COMPRESSION: 'gzip',
        OTEL_BSP_SCHEDULE_DELAY: '50',
        OTEL_METRIC_EXPORT_INTERVAL: '500',
      },
    });
    const { status } = await fetch(`http://127.0.0.1:${service.port}/api/v1/audit-events`, {
      method: 'POST',
      headers: { 'X-API-Key': KEY, 'X-Tenant-Id': 'acme', 'Content-Type': 'application/json' },
      body: JSON.stringify(EVENT),
    });
    assert.equal(status, 201);
    const metric = (name: string, rest: RegExp) =>
      new RegExp(`-> Name: ${name}\\n(?:(?!-> Name:)[^])*?${rest.source}`);
    const expected = [
      /Name\s+: POST \/api\/v1\/audit-events\n/,
      /Name\s+: commit\n/,
      /-> http\.response\.status_code: Int\(201\)/,
      /-> service\.name: Str\(tallystick\)/,
      metric('tallystick_events_accepted_total', /-> IsMonotonic: true\n[^]*?Value: 1\.0/),
      metric('tallystick_commit_duration_seconds', /ExplicitBounds #0: 0\.000500/),
      metric('process_resident_memory_bytes', /-> DataType: Gauge/),
    ];
    await until(() => expected.every((pattern) => pattern.test(said())));
  });
