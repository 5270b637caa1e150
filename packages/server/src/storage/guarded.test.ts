import assert from 'node:assert/strict';
import { test } from 'node:test';
import { guarded, recordsMessage } from './guarded.ts';

class Port {
  readonly name = 'port';
  readonly #kept = 7;

  freshMs(): number {
    return this.#kept;
  }

  async find(id: string): Promise<string> {
    if (id === 'broken') throw new Error('the disk is full');
    return `${id} ${this.#kept}`;
  }

  async ensure(): Promise<never> {
    throw new Error('the disk is full');
  }

  forOwner(owner: string): { list(id: string): Promise<string> } {
    return { list: (id) => this.find(id === '' ? 'broken' : `${owner} ${id}`) };
  }
}

function setUp() {
  const failures: unknown[] = [];
  return { failures, port: guarded(new Port(), recordsMessage, (error) => void failures.push(error)) };
}

test('a guarded port works as before, including `this`', async () => {
  const { port, failures } = setUp();
  assert.equal(port.name, 'port');
  assert.equal(port.freshMs(), 7);
  assert.equal(await port.find('a'), 'a 7');
  assert.equal(await port.forOwner('acme').list('a'), 'acme a 7');
  assert.deepEqual(failures, []);
});

test('a failure is SERVICE_UNAVAILABLE, says whether something may have been written, and is reported with its cause', async () => {
  const { port, failures } = setUp();
  const read = { code: 'SERVICE_UNAVAILABLE', message: 'Keys and tenants cannot be read at the moment.' };
  await assert.rejects(port.find('broken'), read);
  await assert.rejects(port.forOwner('acme').list(''), read);
  await assert.rejects(port.ensure(), {
    code: 'SERVICE_UNAVAILABLE',
    message: /cannot be written .* may be done/,
  });
  assert.deepEqual(
    failures.map((error) => (error as Error).message),
    ['the disk is full', 'the disk is full', 'the disk is full'],
  );
});
