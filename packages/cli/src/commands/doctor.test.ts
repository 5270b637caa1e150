// The command on real data, while the service runs and when it does not.

import assert from 'node:assert/strict';
import { chmodSync, readdirSync, renameSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { serve } from '../testing/command.ts';
import { emptyPlace, type Place, placeWithData } from '../testing/place.ts';

interface Diagnosis {
  readonly isSound: boolean;
  readonly examined: readonly {
    readonly part: string;
    readonly measured?: string;
    readonly problems: readonly { readonly what: string; readonly remedy: string }[];
  }[];
}

/** What is found, but for what the disk of this machine is: that of tests may be in memory, or nearly full. */
async function examine(place: Pick<Place, 'run'>, env: Readonly<Record<string, string>> = {}) {
  const { code, stdout, stderr } = await place.run(['doctor', '--json'], env);
  const diagnosis = JSON.parse(stdout) as Diagnosis;
  const all = diagnosis.examined.flatMap(({ problems }) => problems);
  assert.equal(code, all.length === 0 ? 0 : 1, stdout + stderr);
  assert.equal(diagnosis.isSound, all.length === 0);
  for (const { remedy } of all) assert.ok(remedy.length > 5);
  return {
    parts: diagnosis.examined.map(({ part }) => part),
    found: diagnosis.examined
      .filter(({ part }) => part !== 'fsync' && part !== 'disk')
      .flatMap(({ part, problems }) => problems.map(({ what }) => `${part}: ${what}`)),
  };
}

test('sound data is sound, and the examination leaves nothing behind', async () => {
  using place = await placeWithData();
  const before = readdirSync(place.data).toSorted();
  const { parts, found } = await examine(place);
  assert.deepEqual(parts, ['clock', 'disk', 'fsync', 'files', 'database', 'certificate', 'settings']);
  assert.deepEqual(found, []);
  assert.deepEqual(
    readdirSync(place.data)
      .filter((name) => !/-(wal|shm)$/.test(name))
      .toSorted(),
    before,
  );
});

test('each finding says what is wrong and what to do', async () => {
  using place = await placeWithData();
  chmodSync(place.data, 0o755);
  renameSync(join(place.data, 'anchor'), join(place.data, 'anchor.away'));
  const [key] = readdirSync(join(place.data, 'signing-keys')).filter((name) => name.endsWith('.json'));
  chmodSync(join(place.data, 'signing-keys', key!), 0o644);
  const env = {
    Server__Host: '0.0.0.0',
    Server__TrustedProxies: '0.0.0.0/0',
    Webhooks__AllowPrivateTargets: 'true',
    Log__WitnessPolicy: '/nowhere/policy',
    OTEL_TRACES_SAMPLER: 'sometimes',
    OTEL_TRACES_EXPORTER: 'otlp',
    Health__FreeMebibytesDegraded: String(2 ** 30),
  };
  const { found } = await examine(place, env);
  const expected = [
    /^files: the anchor should be at .*, and there is nothing$/,
    /^files: others may read .*data \(mode 755\)$/,
    /^files: others may read .*\.json \(mode 644\)$/,
    /^settings: Log__WitnessPolicy: cannot read \/nowhere\/policy \(ENOENT\)$/,
    /^settings: OTEL_TRACES_SAMPLER is "sometimes"; /,
    /^settings: Server__Host is 0\.0\.0\.0 without TLS: /,
    /^settings: Server__TrustedProxies has 0\.0\.0\.0\/0: /,
    /^settings: Webhooks__AllowPrivateTargets is true in Production: /,
  ];
  assert.equal(found.length, expected.length, found.join('\n'));
  for (const [i, pattern] of expected.entries()) assert.match(found[i]!, pattern);
  const { code, stdout, stderr } = await place.run(['doctor'], env);
  assert.equal(code, 1);
  assert.match(
    stdout,
    /^finding {2}disk \(.*MiB free.*\)\n {11}the disk of the data directory has \d+ MiB free; limit/m,
  );
  // Volumes of anchors are small.
  assert.match(
    stdout,
    /^ {11}the disk of the data directory has (?:.*\n){2}(?! {11}the disk of the anchor)/m,
  );
  assert.match(stdout, /\n {11}→ chmod 0700 /);
  assert.match(stderr, /^tallystick: \d+ findings\n$/);
});

test('it works beside a running service', async () => {
  await using service = await serve();
  const env = { Storage__DataDirectory: join(service.folder, 'data') };
  using place = emptyPlace();
  const { found } = await examine({ run: (args, more) => place.run(args, { ...env, ...more }) });
  assert.deepEqual(found, []);
  assert.equal((await fetch(`http://127.0.0.1:${service.port}/health/ready`)).status, 200);
});

test('without data, or with wrong settings, it cannot run', async () => {
  using place = emptyPlace();
  const table: [Record<string, string>, RegExp][] = [
    [{}, /^tallystick: there is no data in /],
    [{ Server__Port: 'x' }, /^tallystick: Server__Port: "x" in the environment is not allowed/],
  ];
  for (const [env, expected] of table) {
    const { code, stdout, stderr } = await place.run(['doctor'], env);
    assert.deepEqual([code, stdout], [2, '']);
    assert.match(stderr, expected);
  }
});
