import assert from 'node:assert/strict';
import { test } from 'node:test';
import { assembleModule, doWhile, get, i32, set, tee, v128, type Code } from './wasm-assembler.ts';

declare const WebAssembly: {
  validate: (bytes: Uint8Array<ArrayBuffer>) => boolean;
  Module: new (bytes: Uint8Array<ArrayBuffer>) => object;
  Instance: new (
    module: object,
  ) => { exports: { memory: { buffer: ArrayBuffer }; run: (x: number) => void } };
};

/** Runs code that may use one parameter and one local of each type; returns the memory. */
function memoryAfter(body: Code, argument = 0, data: number[] = []): DataView {
  const locals = [
    { type: i32.type, count: 1 },
    { type: v128.type, count: 1 },
  ];
  const module = assembleModule([{ name: 'run', i32Params: 1, locals, body }], 1, data);
  assert.equal(WebAssembly.validate(module), true);
  const { exports } = new WebAssembly.Instance(new WebAssembly.Module(module));
  exports.run(argument);
  return new DataView(exports.memory.buffer);
}

test('writes constants and offsets of every length', () => {
  const values = [0, 1, 63, 64, 127, 128, 8191, 8192, 0x7fff_ffff, -1, -64, -65, -8192, -8193, -0x8000_0000];
  const offsets = values.map((_, i) => 2 ** i + 4 * i);
  const memory = memoryAfter(
    values.map((value, i) => i32.store(i32.const(0), offsets[i]!, i32.const(value))),
  );
  for (const [i, value] of values.entries()) assert.equal(memory.getInt32(offsets[i]!, true), value);
});

test('takes a constant from 2^31 on for the signed integer of the same bits', () => {
  const memory = memoryAfter(i32.store(i32.const(0), 0, i32.const(0xff00ff00)));
  assert.equal(memory.getUint32(0, true), 0xff00ff00);
});

test('repeats a loop as long as its condition is not zero', () => {
  const [count, sum] = [0, 1];
  const memory = memoryAfter(
    [
      doWhile(set(sum, i32.add(get(sum), get(count))), tee(count, i32.sub(get(count), i32.const(1)))),
      i32.store(i32.const(0), 0, get(sum)),
    ],
    100,
  );
  assert.equal(memory.getInt32(0, true), 5050);
});

test('lays data out from address 0 and shuffles its bytes', () => {
  const data = Array.from({ length: 32 }, (_, i) => i + 100);
  const choice = Array.from({ length: 16 }, (_, i) => (i * 7) % 32);
  const shuffled = v128.shuffle(v128.load(i32.const(0), 0), v128.load(i32.const(0), 16), choice);
  const memory = memoryAfter(v128.store(i32.const(0), 200, shuffled), 0, data);
  for (const [i, chosen] of choice.entries()) assert.equal(memory.getUint8(200 + i), data[chosen]);
});
