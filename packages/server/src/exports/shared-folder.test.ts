// Whether nodes share the directory of exports, on real directories and a clock that moves when it is told to.

import assert from 'node:assert/strict';
import { cpSync, mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, test } from 'node:test';
import { createSystemRandom } from '../runtime/random.ts';
import { NodeMarkFiles } from '../storage/export-files/node-mark-files.ts';
import { createFakeClock } from '../testing/fake-clock.ts';
import { exportsCheck } from './exports-check.ts';
import { SharedFolder } from './shared-folder.ts';

const root = mkdtempSync(join(tmpdir(), 'tallystick-shared-'));
after(() => rmSync(root, { recursive: true }));

const files = { tryOut: async () => {} };

/** Two nodes, each with its directory. */
function pair(first: string, second: string) {
  const clock = createFakeClock();
  const warnings: Readonly<Record<string, unknown>>[] = [];
  const gone = new Set<string>();
  const nodeOf = (self: string, folder: string): SharedFolder => {
    const directory = join(root, folder);
    return new SharedFolder({
      marks: new NodeMarkFiles(directory),
      nodes: () => ['a', 'b'].map((name) => ({ name, isSelf: name === self, isGone: gone.has(name) })),
      clock,
      random: createSystemRandom(),
      telemetry: {
        warn: (_, facts = {}) => void warnings.push(facts),
        info: () => {},
        error: (message) => assert.fail(message),
      },
      directory,
    });
  };
  const [a, b] = [nodeOf('a', first), nodeOf('b', second)];
  const lookFor = async (seconds: number, ...nodes: SharedFolder[]): Promise<void> => {
    for (let passed = 0; passed < seconds; passed += 10) {
      for (const node of nodes) await node.look();
      await clock.advance(10_000);
    }
    for (const node of nodes) await node.look();
  };
  return { a, b, warnings, gone, lookFor };
}

test('nodes that share a directory see it, and one that keeps its files elsewhere is named', async () => {
  const shared = pair('one', 'one');
  await shared.lookFor(200, shared.a, shared.b);
  assert.deepEqual([shared.a.apart(), shared.b.apart(), shared.warnings], [[], [], []]);
  const healthy = await exportsCheck(files, shared.a).run();
  assert.equal(healthy.status, 'Healthy');

  const apart = pair('two', 'three');
  await apart.lookFor(60, apart.a, apart.b);
  assert.deepEqual(apart.a.apart(), [], 'a new file may be seen late');
  await apart.lookFor(40, apart.a, apart.b);
  assert.deepEqual([apart.a.apart(), apart.b.apart()], [['b'], ['a']]);
  assert.deepEqual(
    apart.warnings.map(({ nodes }) => nodes),
    ['b', 'a'],
    'each says it once',
  );
  const { status, description } = await exportsCheck(files, apart.a).run();
  assert.equal(status, 'Degraded');
  assert.match(description!, /: b\. Set Exports__Directory of all nodes to one directory that they share\.$/);
});

test('a copy of a directory is another directory, although it has the marks of both', async () => {
  const { a, b, lookFor } = pair('original', 'copy');
  await lookFor(20, a);
  cpSync(join(root, 'original'), join(root, 'copy'), { recursive: true });
  await lookFor(20, b);
  cpSync(join(root, 'copy'), join(root, 'original'), { recursive: true });
  await lookFor(100, a, b);
  assert.deepEqual([a.apart(), b.apart()], [['b'], ['a']]);
});

test('a node that is gone is no fault, and one that comes back into the directory heals it', async () => {
  const { a, b, gone, lookFor } = pair('kept', 'lost');
  await lookFor(100, a, b);
  assert.deepEqual(a.apart(), ['b']);
  gone.add('b');
  await a.look();
  assert.deepEqual(a.apart(), []);
  gone.clear();
  await a.look();
  assert.deepEqual(a.apart(), [], 'it gets the time to leave a mark');
  const back = pair('kept', 'kept');
  await back.lookFor(100, back.a, back.b);
  assert.deepEqual([back.a.apart(), back.b.apart()], [[], []]);
});

test('the mark of a name that no node has is removed in the end, and files of exports are not', async () => {
  const { a, lookFor } = pair('names', 'elsewhere');
  const marks = new NodeMarkFiles(join(root, 'names'));
  await marks.leave('old-name', 'x');
  await lookFor(3500, a);
  assert.ok((await marks.read()).has('old-name'));
  await lookFor(200, a);
  assert.deepEqual(readdirSync(join(root, 'names')), ['a.node']);
});

test('a process that has the store to itself leaves no mark', async () => {
  const directory = join(root, 'alone');
  const alone = new SharedFolder({
    marks: new NodeMarkFiles(directory),
    nodes: () => [],
    clock: createFakeClock(),
    random: createSystemRandom(),
    telemetry: { warn: () => {}, info: () => {}, error: () => {} },
    directory,
  });
  await alone.look();
  assert.equal(readdirSync(root).includes('alone'), false);
});
