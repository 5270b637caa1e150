// The files in deploy/ as other programs judge them: hadolint, the schema of the Compose Specification (check-jsonschema), systemd,
// kubectl and kubernetes-validate. None of them needs a network or a daemon; what is not on the machine is skipped.

import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, test } from 'node:test';
import { ROOT } from '../source.ts';

const KUBERNETES = '1.34';
/** In tenths, of 10. */
const EXPOSURE_MAX = 20;

const folder = mkdtempSync(join(tmpdir(), 'tallystick-deploy-'));
after(() => rmSync(folder, { recursive: true }));

function run(command: string, ...words: readonly string[]) {
  const { status, stdout, stderr } = spawnSync(command, words, {
    cwd: ROOT,
    encoding: 'utf8',
    timeout: 300_000,
  });
  return { status, said: `${stdout}${stderr}`, stdout };
}

const without = (command: string) =>
  spawnSync(command, ['--help']).error === undefined ? false : `there is no ${command} on this machine`;

test('hadolint finds nothing in the Dockerfile', { skip: without('hadolint') }, () => {
  const { status, said } = run('hadolint', 'deploy/docker/Dockerfile');
  assert.equal(status, 0, said);
});

test('the compose file fits the Compose Specification', { skip: without('check-jsonschema') }, () => {
  const check = (file: string) => run('check-jsonschema', '--builtin-schema', 'vendor.compose-spec', file);
  const { status, said } = check('deploy/docker/compose.yaml');
  assert.equal(status, 0, said);
  const wrong = join(folder, 'compose.yaml');
  writeFileSync(wrong, 'services: { a: { image: b, read_onyl: true } }\n');
  assert.notEqual(check(wrong).status, 0, 'it would tell');
});

test('systemd finds the unit hardly exposed', { skip: without('systemd-analyze') }, () => {
  const unit = 'deploy/systemd/tallystick.service';
  const rated = run('systemd-analyze', 'security', '--offline=true', `--threshold=${EXPOSURE_MAX}`, unit);
  assert.equal(rated.status, 0, rated.said);
});

for (const way of ['sqlite', 'postgres']) {
  const skip = without('kubectl') || without('kubernetes-validate');
  test(`the manifests for ${way} render, and Kubernetes ${KUBERNETES} knows every field`, { skip }, () => {
    const rendered = run('kubectl', 'kustomize', `deploy/kubernetes/${way}`);
    assert.equal(rendered.status, 0, rendered.said);
    const validated = (text: string) => {
      const file = join(folder, `${way}.yaml`);
      writeFileSync(file, text);
      return run('kubernetes-validate', '--kubernetes-version', KUBERNETES, '--strict', file);
    };
    const { status, said } = validated(rendered.stdout);
    assert.equal(status, 0, said);
    assert.notEqual(
      validated(rendered.stdout.replace('runAsNonRoot', 'runAsNonRoute')).status,
      0,
      'it would tell',
    );
  });
}
