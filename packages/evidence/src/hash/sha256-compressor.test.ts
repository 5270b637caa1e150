// The implementation that is chosen where WebAssembly is missing, forbidden, or without vectors. The choice is made once, so each
// test imports the module under another address, and then takes WebAssembly away.

import assert from 'node:assert/strict';
import { hash } from 'node:crypto';
import { afterEach, test } from 'node:test';
import { toHex, utf8 } from '../bytes.ts';
import { HashPool } from './hash-pool.ts';
import type { MakeCompressor } from './sha256-compressor.ts';
import { sha256Module } from './sha256-module.ts';
import { hashParts } from './sha256-fast.ts';

interface WebAssemblyLike {
  Module: new (bytes: Uint8Array) => object;
  Instance: new (module: object) => object;
  validate: (bytes: Uint8Array) => boolean;
}

const webAssembly: WebAssemblyLike = Reflect.get(globalThis, 'WebAssembly');

afterEach(() => {
  Reflect.set(globalThis, 'WebAssembly', webAssembly);
});

async function freshMakeCompressor(name: string): Promise<MakeCompressor> {
  const fresh: typeof import('./sha256-compressor.ts') = await import(`./sha256-compressor.ts?${name}`);
  return fresh.makeCompressor;
}

/** Makes a platform on which some modules do not compile; counts the instances that it makes of others. */
function platformWithout(refused: (bytes: Uint8Array) => boolean): { instances: number } {
  const seen = { instances: 0 };
  const Module = new Proxy(webAssembly.Module, {
    construct(module, [bytes]: [Uint8Array]) {
      if (refused(bytes)) throw new Error('refused by the content security policy');
      return new module(bytes);
    },
  });
  const Instance = new Proxy(webAssembly.Instance, {
    construct(instance, [module]: [object]) {
      seen.instances++;
      return new instance(module);
    },
  });
  Reflect.set(globalThis, 'WebAssembly', { Module, Instance });
  return seen;
}

function assertHashes(make: MakeCompressor): void {
  const message = utf8('the same hash on every platform');
  const expected = hash('sha256', message, 'hex');
  assert.equal(toHex(hashParts(make(), [message])), expected);
  const pool = new HashPool(make);
  const digestsAt = pool.room(9 * 32);
  for (let i = 0; i < 9; i++) {
    const at = pool.room(message.length);
    pool.bytes.set(message, at);
    pool.hash(at, message.length, digestsAt + 32 * i);
  }
  pool.run();
  for (let i = 0; i < 9; i++) assert.equal(toHex(pool.digest(digestsAt + 32 * i)), expected);
}

test('uses vectors where the platform has them', async () => {
  const make = await freshMakeCompressor('vectors');
  assert.notEqual(make().compress4, undefined);
  assertHashes(make);
});

test('uses WebAssembly without vectors where there are none', async () => {
  const make = await freshMakeCompressor('no-vectors');
  const vectorModule = sha256Module({ simd: true });
  const seen = platformWithout((bytes) => bytes.length === vectorModule.length);
  assertHashes(make);
  assert.equal(make().compress4, undefined);
  assert.ok(seen.instances > 0);
});

test('goes without WebAssembly where it is forbidden', async () => {
  const make = await freshMakeCompressor('forbidden');
  const seen = platformWithout(() => true);
  assertHashes(make);
  assert.equal(seen.instances, 0);
});

test('goes without WebAssembly where there is none', async () => {
  const make = await freshMakeCompressor('none');
  Reflect.deleteProperty(globalThis, 'WebAssembly');
  assertHashes(make);
});

test('compiles once for all compressors, and not before the first is made', async () => {
  let modules = 0;
  platformWithout(() => {
    modules++;
    return false;
  });
  const make = await freshMakeCompressor('once');
  assert.equal(modules, 0);
  make();
  make();
  assert.equal(modules, 1);
});

test('both modules are valid WebAssembly', () => {
  assert.equal(webAssembly.validate(sha256Module({ simd: true })), true);
  assert.equal(webAssembly.validate(sha256Module({ simd: false })), true);
});
