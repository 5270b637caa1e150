// Which packages the repository takes, in manifests and lockfiles: exactly named, for every machine, from any registry.

import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { type Manifest, publishedManifest } from '../packaging/published.ts';
import { readText, repositoryFiles } from './source.ts';

interface Locked {
  readonly optionalDependencies?: Readonly<Record<string, string>>;
  readonly engines?: { readonly node?: string };
  readonly hasInstallScript?: true;
}

function lockedPackages(): Readonly<Record<string, Locked>> {
  const { packages } = JSON.parse(readText('package-lock.json')) as { packages: Record<string, Locked> };
  return packages;
}

/** The name of a package by its path in the lockfile. */
const nameAt = (path: string) => path.split('node_modules/').at(-1)!;

describe('dependencies', () => {
  it('have exact versions', () => {
    const manifests = repositoryFiles().filter((path) => path.endsWith('package.json'));
    const loose = manifests.flatMap((path) => {
      const manifest = JSON.parse(readText(path)) as Record<string, Record<string, string> | undefined>;
      return ['dependencies', 'devDependencies', 'optionalDependencies', 'peerDependencies'].flatMap(
        (section) =>
          Object.entries(manifest[section] ?? {})
            // A peer is installed beside us by the operator, who keeps it up to date.
            .map(([name, version]) => [name, section === 'peerDependencies' ? version.slice(1) : version])
            .filter(([, version]) => !/^\d+\.\d+\.\d+(-[\w.]+)?$/.test(version!))
            .map(([name, version]) => `${path}: ${name} ${version}`),
      );
    });
    assert.deepEqual(loose, []);
  });

  it('are locked for every platform, without which npm ci refuses the lockfile', () => {
    const packages = lockedPackages();
    const missing = Object.entries(packages).flatMap(([path, { optionalDependencies = {} }]) =>
      Object.keys(optionalDependencies)
        .filter(
          (name) => !(`node_modules/${name}` in packages) && !(`${path}/node_modules/${name}` in packages),
        )
        .map((name) => `${path} wants ${name}`),
    );
    assert.deepEqual(missing, []);
  });

  it('are locked without the address they came from', () => {
    const lockfiles = repositoryFiles().filter((path) => path.endsWith('package-lock.json'));
    const addresses = lockfiles.flatMap((path) =>
      [...readText(path).matchAll(/"resolved": "https?:[^"]*"/g)].map(([address]) => `${path}: ${address}`),
    );
    assert.deepEqual(addresses, []);
  });

  it('say on Node 20 that they want a newer one only where the README explains it', () => {
    const wanting = Object.entries(lockedPackages())
      .filter(([, { engines }]) => Number(/^>=\s*(\d+)/.exec(engines?.node ?? '')?.[1]) > 20)
      .map(([path]) => nameAt(path));
    assert.deepEqual(wanting, ['commander', 'cookie']);
    assert.match(readText('README.md').slice(0, 1000), /npm warns[^.]*that\s+two\s+packages want a newer/);
  });

  it('run nothing when they are installed', () => {
    const withScript = Object.entries(lockedPackages()).filter(([, locked]) => locked.hasInstallScript);
    const { allowScripts } = JSON.parse(readText('package.json')) as { allowScripts: unknown };
    assert.deepEqual(allowScripts, Object.fromEntries(withScript.map(([path]) => [nameAt(path), false])));
  });
});

describe('a package of ours', () => {
  const packages = ['contract', 'evidence', 'server', 'cli'];

  it('asks for Node 24 where it is published, and not in the repository, which brings it', () => {
    for (const name of packages) {
      const manifest = manifestOf(name);
      assert.equal(manifest['engines'], undefined, name);
      const published = publishedManifest(manifest, 'abc');
      assert.deepEqual([published['engines'], published['gitHead']], [{ node: '>=24' }, 'abc'], name);
      assert.doesNotMatch(JSON.stringify(published), /"source"|"scripts"|\.ts"(?<!\.d\.ts")/, name);
    }
  });

  it('says what it is, under which licence, and the types of all that it exports', () => {
    for (const name of packages) {
      const { license, description, files, exports: entries = {}, type } = manifestOf(name);
      assert.deepEqual([license, type], ['Apache-2.0', 'module'], name);
      assert.ok(typeof description === 'string' && description.length > 10, name);
      assert.ok(Array.isArray(files) && files.includes('dist'), name);
      assert.match(readText(`packages/${name}/README.md`), new RegExp(`^# @tallystick/${name}\n`));
      for (const [path, entry] of Object.entries(entries)) {
        if (typeof entry !== 'string')
          assert.deepEqual(Object.keys(entry), ['source', 'types', 'default'], path);
      }
    }
  });
});

function manifestOf(name: string): Manifest {
  return JSON.parse(readText(`packages/${name}/package.json`)) as Manifest;
}
