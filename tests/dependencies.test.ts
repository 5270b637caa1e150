// Which packages the repository takes, in manifests and lockfiles: exactly named, for every machine, from any registry.

import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { readText, repositoryFiles } from './source.ts';

describe('dependencies', () => {
  it('have exact versions', () => {
    const manifests = repositoryFiles().filter((path) => path.endsWith('package.json'));
    const loose = manifests.flatMap((path) => {
      const manifest = JSON.parse(readText(path)) as Record<string, Record<string, string> | undefined>;
      return ['dependencies', 'devDependencies', 'optionalDependencies', 'peerDependencies'].flatMap(
        (section) =>
          Object.entries(manifest[section] ?? {})
            .filter(([, version]) => !/^\d+\.\d+\.\d+(-[\w.]+)?$/.test(version))
            .map(([name, version]) => `${path}: ${name} ${version}`),
      );
    });
    assert.deepEqual(loose, []);
  });

  it('are locked for every platform, without which npm ci refuses the lockfile', () => {
    const { packages } = JSON.parse(readText('package-lock.json')) as {
      packages: Record<string, { optionalDependencies?: Record<string, string> }>;
    };
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
});
