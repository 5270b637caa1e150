// The packages as others get them: packed, installed by npm into an empty folder with no repository around it, and used there. npm
// fetches their dependencies, and the programs that judge them, from the registry; without one these tests are skipped.

import assert from 'node:assert/strict';
import { execFileSync, spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import {
  copyFileSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { after, before, test } from 'node:test';
import { shellBlocks } from '../shell-blocks.ts';
import { readText, repositoryFiles, ROOT } from '../source.ts';

/** Judges of packages. No dependencies of the repository: they bring a hundred packages, and nothing else needs them. */
const PUBLINT = 'publint@0.3.25';
const TYPES = '@arethetypeswrong/cli@0.18.5';

const NAMES = ['contract', 'evidence', 'server', 'cli'];
/** The Node that runs this test goes before the one of the machine. */
const env = {
  ...process.env,
  PATH: `${dirname(process.execPath)}:${process.env['PATH']}`,
  npm_config_loglevel: 'error',
};
const skip =
  spawnSync('npm', ['view', PUBLINT, 'version'], { env, timeout: 60_000 }).status === 0
    ? false
    : 'npm reaches no registry';

let folder: string;
let installed: string;
let tarballs: string[];

before(
  () => {
    if (skip !== false) return;
    folder = mkdtempSync(join(tmpdir(), 'tallystick-packages-'));
    tarballs = packed(join(folder, 'repository'), join(folder, 'packed'));
    installed = join(folder, 'installed');
    mkdirSync(installed);
    run('npm', ['install', '--no-audit', '--no-fund', '--ignore-scripts', ...tarballs]);
  },
  { timeout: 600_000 },
);
after(() => {
  if (folder !== undefined) rmSync(folder, { recursive: true });
});

/** Packs a copy of the repository, because packing changes manifests for a moment. */
function packed(copy: string, destination: string): string[] {
  for (const path of repositoryFiles()) {
    if (!/^(packages\/(?!.*\.test\.ts$)|packaging\/|package\.json|tsconfig\.json|LICENSE)/.test(path))
      continue;
    mkdirSync(dirname(join(copy, path)), { recursive: true });
    copyFileSync(join(ROOT, path), join(copy, path));
  }
  const modules = join(copy, 'node_modules');
  mkdirSync(join(modules, '@tallystick'), { recursive: true });
  for (const name of readdirSync(join(ROOT, 'node_modules')))
    if (name !== '@tallystick') symlinkSync(join(ROOT, 'node_modules', name), join(modules, name));
  for (const name of NAMES) symlinkSync(join(copy, 'packages', name), join(modules, '@tallystick', name));
  mkdirSync(destination);
  execFileSync('npm', ['pack', '--workspaces', '--pack-destination', destination], {
    cwd: copy,
    env,
    stdio: 'pipe',
  });
  for (const name of NAMES) {
    const path = `packages/${name}/package.json`;
    assert.equal(readFileSync(join(copy, path), 'utf8'), readText(path), 'the manifest is as it was');
  }
  return readdirSync(destination).map((file) => join(destination, file));
}

function run(command: string, words: readonly string[], cwd = installed): string {
  const { status, stdout, stderr } = spawnSync(command, words, {
    cwd,
    env,
    encoding: 'utf8',
    timeout: 600_000,
  });
  assert.equal(status, 0, `${command} ${words.join(' ')}:\n${stdout}${stderr}`);
  return stdout;
}

test('publint and Are the types wrong? find nothing', { skip }, () => {
  assert.equal(tarballs.length, NAMES.length);
  for (const tarball of tarballs) {
    const listed = run('tar', ['-tzf', tarball]);
    assert.match(listed, /^package\/LICENSE$/m);
    assert.match(listed, /^package\/README\.md$/m);
    assert.doesNotMatch(listed, /\.test\.|\/testing\/|(?<!\.d)\.ts$|\.kept/m);
    run('npx', ['--yes', PUBLINT, tarball, '--strict']);
    // The command has no types: nobody imports it.
    if (!tarball.includes('-cli-'))
      run('npx', ['--yes', TYPES, tarball, '--profile', 'esm-only', '--no-emoji']);
  }
});

test('in an empty folder the service starts, takes an event, and its data verifies', { skip }, async () => {
  const [install, ...others] = shellBlocks('packages/cli/README.md');
  assert.equal(install, 'npm install @tallystick/cli\nnpx tallystick serve');
  const command = join(installed, 'node_modules/.bin/tallystick');
  const settings = { ...env, Server__Port: '0' };
  const service = spawn(command, ['serve'], {
    cwd: installed,
    env: settings,
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  try {
    let said = '';
    for await (const chunk of service.stdout) {
      said += String(chunk);
      if (said.includes('Send an event')) break;
    }
    const [address = ''] = /http:\/\/127\.0\.0\.1:\d+/.exec(said) ?? [];
    assert.match(said, /key {6}tsk_/);
    const shown = run('bash', [
      '-c',
      `set -e; ${others.join('\n').replaceAll('http://127.0.0.1:8080', address)}`,
    ]);
    assert.match(shown, /"status":"Accepted"/);
    assert.match(shown, /verified {2}\.\/data\n/);
    for (const path of [
      '/docs/swagger-ui.js',
      '/graphql/assets/graphiql.js',
      '/graphql/assets/react-dom.js',
    ]) {
      const file = await fetch(address + path);
      assert.ok((await file.text()).length > 100_000, `${path} is in the package`);
    }
  } finally {
    service.kill('SIGTERM');
    if (service.exitCode === null) await once(service, 'exit');
  }
  assert.equal(service.exitCode, 0);
});

test('where a receiver of traces is named, the start says which optional package is missing', {
  skip,
}, () => {
  const { status, stderr } = spawnSync(join(installed, 'node_modules/.bin/tallystick'), ['serve'], {
    cwd: installed,
    env: { ...env, Server__Port: '0', OTEL_EXPORTER_OTLP_ENDPOINT: 'http://127.0.0.1:4318' },
    encoding: 'utf8',
    timeout: 600_000,
  });
  assert.equal(status, 1, stderr);
  assert.match(
    stderr,
    /^tallystick: OTEL_ variables ask .* the package @opentelemetry\/[\w-]+ is not installed/,
  );
});

test('the bill of materials lists all that npm has installed', { skip }, () => {
  run('npm', ['run', '--silent', 'sbom'], ROOT);
  const { components, metadata } = JSON.parse(readText('dist/sbom.cdx.json')) as {
    readonly components: readonly { readonly name: string; readonly licenses?: readonly object[] }[];
    readonly metadata: { readonly component: { readonly name: string } };
  };
  const listed = [metadata.component.name, ...components.map(({ name }) => name)];
  const found = run('npm', ['ls', '--all', '--parseable']).trim().split('\n').slice(1);
  const names = new Set(found.map((path) => path.split('node_modules/').at(-1)!));
  assert.deepEqual(
    [...names].filter((name) => !listed.includes(name)),
    [],
  );
  const others = listed.filter((name) => !names.has(name));
  const copies = ['swagger-ui-dist', 'graphiql', 'react', 'react-dom'];
  assert.deepEqual(others, copies, 'copies in the package of the service');
  assert.deepEqual(
    components.filter(({ licenses }) => licenses === undefined),
    [],
  );
});

const CHECK = `
from sys import argv
from cyclonedx.schema import SchemaVersion
from cyclonedx.validation.json import JsonStrictValidator
fault = JsonStrictValidator(SchemaVersion.V1_5).validate_str(open(argv[1]).read())
exit(0 if fault is None else str(fault))
`;
const noValidator =
  spawnSync('python3', ['-c', 'import cyclonedx.validation.json, jsonschema']).status === 0
    ? false
    : 'Python has no cyclonedx-python-lib[json-validation]';

test('the bill of materials fits the schema of CycloneDX', { skip: noValidator }, () => {
  run('npm', ['run', '--silent', 'sbom'], ROOT);
  run('python3', ['-c', CHECK, join(ROOT, 'dist/sbom.cdx.json')], ROOT);
});

test('the examples in the READMEs of the libraries run', { skip }, () => {
  copyFileSync(join(ROOT, 'vectors/valid/whole-log.jsonl'), join(installed, 'bundle.jsonl'));
  copyFileSync(join(ROOT, 'vectors/valid/log.key'), join(installed, 'log.key'));
  const table: [name: string, says: RegExp][] = [
    ['evidence', /^verified: 20 entries of audit\.example\.com\/t\/acme\n$/],
    ['contract', /events\.ingest POST \/audit-events\n[^]*3\.0\.3\n$/],
  ];
  for (const [name, says] of table) {
    const [, example = ''] = /```js\n([^]*?)```/.exec(readText(`packages/${name}/README.md`)) ?? [];
    writeFileSync(join(installed, `${name}.mjs`), example);
    assert.match(run(process.execPath, [`${name}.mjs`]), says);
  }
});
