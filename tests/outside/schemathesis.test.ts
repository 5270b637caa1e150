// Schemathesis, as it is installed here, asks a real service what its own OpenAPI documents say that it may be asked, and checks every
// answer against them. SCHEMATHESIS names the command if it is not in the path; SCHEMATHESIS_EXAMPLES how many requests it
// draws for each operation.

import assert from 'node:assert/strict';
import { spawn, spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, test } from 'node:test';
import { PLATFORM_KEY, WITH_PLATFORM_KEY } from '../../packages/server/src/testing/admin-caller.ts';
import { startTestApp } from '../../packages/server/src/testing/test-app.ts';

const COMMAND = process.env['SCHEMATHESIS'] ?? 'schemathesis';
const EXAMPLES = process.env['SCHEMATHESIS_EXAMPLES'] ?? '30';
const isThere = spawnSync(COMMAND, ['--version']).status === 0;
const skip = isThere ? false : 'Schemathesis is not on this machine (pip install schemathesis)';

/** What the schemas cannot say, so that a finding is always a finding. */
const CONFIGURATION = `# Many limits are hit at once.
suppress-health-check = ["all"]

[checks.positive_data_acceptance]
# A cursor, a sequence, a field to redact: what fits the schema need not be one that there is. Of policies and destinations, which
# members go together is said by the answer. Times may be too late or too early. If-None-Match: * is true of whatever is there.
expected-statuses = [200, 201, 202, 204, 206, 207, 304, 400, 401, 403, 404, 409, 422, 429]

# Here a policy that breaks the schema is an answer, and no error: the answer says what is wrong with it.
[[operations]]
include-path-regex = "/policies/validate$"
checks.negative_data_rejection.expected-statuses = [200, 400, 401, 403, 404, 422, 429]
`;

/** It remembers what it has found in the folder where it is called. */
const folder = mkdtempSync(join(tmpdir(), 'tallystick-schemathesis-'));
writeFileSync(join(folder, 'schemathesis.toml'), CONFIGURATION);
after(() => rmSync(folder, { recursive: true, force: true }));

/** Its exit code and what it has printed. */
function run(args: readonly string[]): Promise<{ code: number | null; output: string }> {
  return new Promise((resolve, reject) => {
    const child = spawn(COMMAND, args, { stdio: ['ignore', 'pipe', 'pipe'], cwd: folder });
    let output = '';
    child.stdout.on('data', (chunk: Buffer) => (output += chunk.toString()));
    child.stderr.on('data', (chunk: Buffer) => (output += chunk.toString()));
    child.on('error', reject);
    child.on('close', (code) => resolve({ code, output }));
  });
}

for (const version of ['v1', 'v2']) {
  test(`all checks of Schemathesis find nothing in ${version}`, { skip, timeout: 1_800_000 }, async (t) => {
    await using app = await startTestApp(
      { ...WITH_PLATFORM_KEY, Telemetry__Level: 'Warn' },
      { hasThreads: true },
    );
    const { code, output } = await run([
      'run',
      `${app.url}/openapi/${version}.json`,
      '--header',
      `X-API-Key: ${PLATFORM_KEY}`,
      '--header',
      'X-Tenant-Id: acme',
      '--checks=all',
      // They want 405 and `Allow`; ours are a closed set of statuses without it.
      '--exclude-checks=unsupported_method,allow_header_conformance',
      '--phases=examples,coverage,fuzzing,stateful',
      `--max-examples=${EXAMPLES}`,
      '--seed=1',
      '--max-failures=200',
      '--no-color',
    ]);
    const summary = /Test cases:\n(.*)/.exec(output)?.[1]?.trim();
    t.diagnostic(`${version}: ${summary ?? 'no summary'}`);
    assert.equal(code, 0, output.slice(-20_000));
  });
}
