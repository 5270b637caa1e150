import assert from 'node:assert/strict';
import { test } from 'node:test';
import { type CallMessage, callsFor, callsHere, callsTo } from './calls.ts';

class Counter {
  #count = 0;

  add(name: string, by: number): string {
    this.#count += by;
    return `${name} ${this.#count}`;
  }

  size(buffer: ArrayBuffer): number {
    return buffer.byteLength;
  }
}

test('calls of an object in this thread give promises, and their faults are rejections', async () => {
  const calls = callsHere(new Counter());
  assert.equal(await calls.add('a', 2), 'a 2');
  assert.equal(await calls.add('b', 3), 'b 5');
  await assert.rejects(calls.size(undefined as never), TypeError);
});

test('with the first argument bound, the others are asked for', async () => {
  const calls = callsFor('acme', callsHere(new Counter()));
  assert.equal(await calls.add(4), 'acme 4');
});

test('a call to a thread names its part and hands buffers over', async () => {
  const asked: [CallMessage, readonly ArrayBuffer[] | undefined][] = [];
  const thread = {
    async ask(message: CallMessage, handOver?: readonly ArrayBuffer[]) {
      asked.push([message, handOver]);
      return 7;
    },
  };
  const calls = callsTo<Counter>(thread, 'counter');
  const buffer = new ArrayBuffer(3);
  assert.equal(await calls.size(buffer), 7);
  await calls.add('a', 1);
  assert.deepEqual(asked, [
    [{ part: 'counter', method: 'size', args: [buffer] }, [buffer]],
    [{ part: 'counter', method: 'add', args: ['a', 1] }, []],
  ]);
});

test('the calls themselves can be given by a promise', async () => {
  const calls = await Promise.resolve(callsHere(new Counter()));
  assert.equal(await calls.add('a', 1), 'a 1');
});
