import assert from 'node:assert/strict';
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import {
  appendFileSync,
  copyFileSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  truncateSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import * as fc from 'fast-check';
import { StartError } from '../../start-error.ts';
import type { Anchor, AnchoredHead } from '../../streams/anchor/anchor.ts';
import { failing } from '../../testing/failing-disk.ts';
import { FIRST_LINE, formatAnchor, formatRecord, readAnchor } from './format.ts';
import { openNodesAnchor, openOwnAnchor, readAnchorAt, takeAnchorAlone } from './file-anchor.ts';

const SEED = 20261116;
const ORIGIN = 'audit.example.com/t/acme';

interface Folder extends Disposable {
  readonly path: string;
  file(node: string): string;
  open(node: string): Promise<Anchor>;
}

function folder(): Folder {
  const path = mkdtempSync(join(tmpdir(), 'tallystick-anchor-'));
  return {
    path,
    file: (node) => join(path, `anchor-${node}`),
    open: (node) => openNodesAnchor({ directory: path, node }),
    [Symbol.dispose]: () => rmSync(path, { recursive: true }),
  };
}

function head(size: number, fill = size, origin = ORIGIN): AnchoredHead {
  return { origin, size, root: new Uint8Array(32).fill(fill) };
}

function headsIn(file: string): AnchoredHead[] {
  return [...readAnchor(readFileSync(file)).heads.values()];
}

function newest(anchor: Anchor): AnchoredHead | undefined {
  return anchor.heads().get(ORIGIN);
}

test('nodes write their own files concurrently, and each knows the heads of all', async () => {
  using directory = folder();
  await using a = await directory.open('a');
  await using b = await directory.open('b');
  assert.equal(a.heads().size + b.heads().size, 0);
  await Promise.all([a.append([head(3), head(1, 1, 'a')]), b.append([head(2, 2, 'b'), head(9, 9, 'b')])]);
  for (const anchor of [a, b]) {
    await anchor.refresh();
    assert.deepEqual(new Set(anchor.heads().values()), new Set([head(3), head(1, 1, 'a'), head(9, 9, 'b')]));
    assert.deepEqual((await anchor.history()).get('b'), [head(2, 2, 'b'), head(9, 9, 'b')]);
  }
  assert.deepEqual(headsIn(directory.file('a')), [head(3), head(1, 1, 'a')]);
  assert.equal(statSync(directory.file('a')).mode & 0o777, 0o600);
  await using c = await directory.open('c');
  assert.deepEqual(c.heads().get('b'), head(9, 9, 'b'));
});

test('the file of a service that was alone before is read, and never written again', async () => {
  using directory = folder();
  {
    await using alone = await openOwnAnchor(directory.path);
    await alone.append([head(5)]);
  }
  const before = readFileSync(join(directory.path, 'anchor'));
  await using anchor = await directory.open('a');
  assert.deepEqual(newest(anchor), head(5));
  await anchor.append([head(7)]);
  assert.deepEqual(readFileSync(join(directory.path, 'anchor')), before);
  assert.deepEqual((await anchor.history()).get(ORIGIN), [head(5), head(7)]);
});

test('heads of other nodes are known after a refresh, and are read before an append', async () => {
  using directory = folder();
  await using a = await directory.open('a');
  await using b = await directory.open('b');
  await b.append([head(4)]);
  assert.equal(newest(a), undefined);
  await a.refresh();
  assert.deepEqual(newest(a), head(4));
  await b.append([head(8)]);
  // Skipped without an error: another node has anchored more.
  await a.append([head(6), head(2, 2, 'mine')]);
  assert.deepEqual(headsIn(directory.file('a')), [head(2, 2, 'mine')]);
  assert.deepEqual(newest(a), head(8));
  // Equal to theirs: it is anchored here as well, since only they know whether theirs is on a disk.
  await a.append([head(8)]);
  assert.deepEqual(a.heads().get(ORIGIN), head(8));
  assert.deepEqual(headsIn(directory.file('a')), [head(2, 2, 'mine'), head(8)]);
  await a.append([head(12)]);
  await b.refresh();
  assert.deepEqual(newest(b), head(12));
});

test('the head that a node has anchored itself does not go back', async () => {
  using directory = folder();
  await using a = await directory.open('a');
  await using b = await directory.open('b');
  await a.append([head(5)]);
  await assert.rejects(a.append([head(4)]), /anchored at size 5; it cannot go back to 4/);
  await b.append([head(9)]);
  await assert.rejects(a.append([head(2, 2, 'x'), head(4)]), /anchored at size 5; it cannot go back to 4/);
  assert.deepEqual(headsIn(directory.file('a')), [head(5)]);
});

test('a head with another root than that of any node is rejected, with all others of the append', async () => {
  using directory = folder();
  await using a = await directory.open('a');
  await using b = await directory.open('b');
  await b.append([head(5)]);
  await assert.rejects(a.append([head(1, 1, 'x'), head(5, 55)]), /acme .* size 5 .* fork/);
  assert.deepEqual(headsIn(directory.file('a')), []);
  await a.append([head(1, 1, 'x')]);
  assert.equal(a.forks().size, 0);
});

test('a fork between two files is reported by every node, for its origin only, also at a start', async () => {
  using directory = folder();
  const [a, b] = [await directory.open('a'), await directory.open('b')];
  await a.append([head(5), head(1, 1, 'x')]);
  // As nodes do that see each other too late.
  writeFileSync(directory.file('b'), formatAnchor([head(5, 55), head(1, 1, 'x')]));
  await a.refresh();
  const message = `two histories of ${ORIGIN} were signed: with 5 entries it has root ${'05'.repeat(32)} in ${directory.file('a')} and root ${'37'.repeat(32)} in ${directory.file('b')}`;
  assert.deepEqual(
    [...a.forks()].map(([origin, why]) => [origin, why.startsWith(message)]),
    [[ORIGIN, true]],
  );
  await assert.rejects(a.append([head(8)]), /two histories of .*acme were signed/);
  await a.append([head(3, 3, 'x')]);
  // Also after both have continued with other heads.
  await a[Symbol.asyncDispose]();
  await b[Symbol.asyncDispose]();
  const [one, two] = [formatRecord([head(5)], FIRST_LINE), formatRecord([head(5, 55)], FIRST_LINE)];
  const later = (record: typeof one, size: number) =>
    FIRST_LINE + record.text + formatRecord([head(size)], record.closing).text;
  writeFileSync(directory.file('a'), later(one, 9));
  writeFileSync(directory.file('b'), later(two, 10));
  await using c = await directory.open('c');
  assert.deepEqual([...c.forks().keys()], [ORIGIN]);
  assert.deepEqual((await c.history()).get(ORIGIN), [head(5), head(5, 55), head(9), head(10)]);
});

test('a record that another node is just writing is read when it is whole', async () => {
  using directory = folder();
  await using a = await directory.open('a');
  const one = formatRecord([head(1)], FIRST_LINE);
  const next = formatRecord([head(7), head(3, 3, 'x')], one.closing).text;
  for (let length = 0; length <= next.length; length += length < next.length - 3 ? 7 : 1) {
    writeFileSync(directory.file('b'), FIRST_LINE + one.text + next.slice(0, length));
    await a.refresh();
    assert.equal(newest(a)?.size, length === next.length ? 7 : 1, `${length}`);
    {
      await using c = await directory.open('c');
      assert.equal(newest(c)?.size, length === next.length ? 7 : 1);
    }
    const read = await readAnchorAt(directory.path);
    assert.equal(read.heads().get(ORIGIN)?.size, length === next.length ? 7 : 1);
    assert.deepEqual((await read.history()).get(ORIGIN)?.at(-1), read.heads().get(ORIGIN));
  }
});

test('a part that its owner removes and rewrites is read again, and known heads stay', async () => {
  using directory = folder();
  await using a = await directory.open('a');
  const one = formatRecord([head(1)], FIRST_LINE);
  const lost = formatRecord([head(4)], one.closing);
  writeFileSync(directory.file('b'), FIRST_LINE + one.text + lost.text);
  await a.refresh();
  assert.equal(newest(a)?.size, 4);
  // Its disk had refused the first: this one has the same length and the same predecessor.
  const instead = formatRecord([head(3)], one.closing);
  assert.equal(instead.text.length, lost.text.length);
  const more = formatRecord([head(6)], instead.closing);
  writeFileSync(directory.file('b'), FIRST_LINE + one.text + instead.text + more.text);
  await a.refresh();
  assert.equal(newest(a)?.size, 6);
  truncateSync(directory.file('b'), FIRST_LINE.length);
  await a.refresh();
  assert.equal(newest(a)?.size, 6);
  rmSync(directory.file('b'));
  await a.refresh();
  assert.equal(newest(a)?.size, 6);
  assert.equal(a.forks().size, 0);
});

test('a file that another node has compacted is read again', async () => {
  using directory = folder();
  await using a = await directory.open('a');
  const records = formatRecord([head(1)], FIRST_LINE);
  writeFileSync(
    directory.file('b'),
    FIRST_LINE + records.text + formatRecord([head(2)], records.closing).text,
  );
  await a.refresh();
  rmSync(directory.file('b'));
  writeFileSync(directory.file('b'), formatAnchor([head(2), head(1, 1, 'x')]));
  await a.refresh();
  assert.deepEqual(a.heads().get('x'), head(1, 1, 'x'));
  // A draft is a folder beside the file.
  mkdirSync(join(directory.path, 'anchor-b.draft-AAAAAA'));
  await a.refresh();
});

test('damage in the file of another node is an error that names it, at a start and later', async () => {
  using directory = folder();
  {
    await using b = await directory.open('b');
    await b.append([head(1)]);
    await b.append([head(2)]);
  }
  const a = await directory.open('a');
  const whole = readFileSync(directory.file('b'));
  const damaged = Buffer.from(whole);
  damaged[FIRST_LINE.length + 40]! ^= 1;
  writeFileSync(directory.file('b'), damaged);
  const says = (error: unknown) => {
    assert.ok(error instanceof Error);
    assert.match(
      error.message,
      /^cannot use the anchor \/.*anchor-b: line 3 is not the checksum .*; put back/,
    );
    return true;
  };
  await assert.rejects(a.refresh(), says);
  await assert.rejects(a.append([head(5)]), says);
  assert.deepEqual(headsIn(directory.file('a')), []);
  await a[Symbol.asyncDispose]();
  await assert.rejects(directory.open('a'), (error) => says(error) && error instanceof StartError);
  await assert.rejects(readAnchorAt(directory.path), (error) => says(error) && error instanceof StartError);
  writeFileSync(directory.file('b'), whole);
  await using again = await directory.open('a');
  assert.equal(newest(again)?.size, 2);
});

test('a file that does not change is not read', async () => {
  using directory = folder();
  await using a = await directory.open('a');
  await using b = await directory.open('b');
  await b.append([head(1)]);
  await a.refresh();
  using reads = await failing('read', 'EIO');
  await a.refresh();
  assert.equal(reads.calls(), 0);
  await b.append([head(2)]);
  await assert.rejects(a.refresh(), /anchor-b: EIO/);
  // A file that could not be read is read the next time.
  await a.refresh();
  assert.equal(newest(a)?.size, 2);
});

test('a second node with the same name is refused in any process; the name is free once the first has ended', async () => {
  using directory = folder();
  const held = (error: unknown) => {
    assert.ok(error instanceof StartError);
    assert.match(error.message, /another node with the name a is running .*Node__Name/);
    return true;
  };
  {
    await using a = await directory.open('a');
    await assert.rejects(directory.open('a'), held);
    assert.match(await said(nodeProcess(directory.path, 'a')), /another node with the name a/);
    await a.append([head(1)]);
  }
  const child = nodeProcess(directory.path, 'a');
  assert.equal(await said(child), 'open\n');
  await assert.rejects(directory.open('a'), held);
  await using other = await directory.open('b');
  assert.equal(newest(other)?.size, 1);
  child.kill('SIGKILL');
  await once(child, 'exit');
  await using a = await directory.open('a');
  await a.append([head(2)]);
});

test('an exclusive process gets the anchor alone, or learns that a node is running', async () => {
  using directory = folder();
  {
    await using nodes = new AsyncDisposableStack();
    for (const node of ['a', 'b']) nodes.use(await directory.open(node));
    assert.throws(() => takeAnchorAlone(directory.path), /stop every node first/);
  }
  const child = nodeProcess(directory.path, 'c');
  assert.equal(await said(child), 'open\n');
  assert.throws(() => takeAnchorAlone(directory.path), StartError);
  child.kill('SIGKILL');
  await once(child, 'exit');
  {
    using _ = takeAnchorAlone(directory.path);
    await assert.rejects(directory.open('a'), /tallystick recover/);
    assert.match(await said(nodeProcess(directory.path, 'c')), /tallystick recover/);
  }
  await using a = await directory.open('a');
  await a.append([head(1)]);
});

test('the place must be a directory that is there', async () => {
  using directory = folder();
  const open = (name: string) => openNodesAnchor({ directory: join(directory.path, name), node: 'a' });
  await assert.rejects(open('missing'), (error) => {
    assert.ok(error instanceof StartError);
    assert.match(error.message, /ENOENT; see Log__Anchor/);
    return true;
  });
  writeFileSync(join(directory.path, 'file'), FIRST_LINE);
  await assert.rejects(open('file'), /it is a directory.*Log__Anchor/);
  assert.deepEqual(readdirSync(directory.path), ['file']);
});

test('a copy of a file beside it changes nothing', async () => {
  using directory = folder();
  await using a = await directory.open('a');
  await a.append([head(1)]);
  copyFileSync(directory.file('a'), directory.file('a.2026-11-16'));
  await a.append([head(2)]);
  appendFileSync(directory.file('z'), FIRST_LINE);
  await a.refresh();
  assert.equal(newest(a)?.size, 2);
  assert.equal(a.forks().size, 0);
});

test('in any order of appends, each node knows the largest heads after a refresh, and so does a new one', async () => {
  const step = fc.record({
    node: fc.constantFrom('a', 'b', 'c'),
    act: fc.constantFrom('append', 'append', 'refresh', 'restart'),
    growth: fc.nat(3),
    origin: fc.constantFrom('x', 'y'),
  });
  await fc.assert(
    fc.asyncProperty(fc.array(step, { maxLength: 25 }), async (steps) => {
      using directory = folder();
      const anchors = new Map<string, Anchor>();
      const sizes = new Map<string, number>();
      try {
        for (const node of ['a', 'b', 'c']) anchors.set(node, await directory.open(node));
        for (const { node, act, growth, origin } of steps) {
          const anchor = anchors.get(node)!;
          if (act === 'append') {
            const size = (sizes.get(origin) ?? 0) + growth;
            await anchor.append([head(size, size, origin)]);
            sizes.set(origin, size);
          } else if (act === 'refresh') await anchor.refresh();
          else {
            await anchor[Symbol.asyncDispose]();
            anchors.set(node, await directory.open(node));
          }
        }
        for (const anchor of anchors.values()) {
          await anchor.refresh();
          assert.equal(anchor.heads().size, sizes.size);
          for (const [origin, size] of sizes) assert.equal(anchor.heads().get(origin)?.size, size);
          assert.equal(anchor.forks().size, 0);
        }
      } finally {
        for (const anchor of anchors.values()) await anchor[Symbol.asyncDispose]();
      }
    }),
    { seed: SEED, numRuns: 15 },
  );
});

/** Prints `open` or the reason of its failure, and runs until it is killed. */
function nodeProcess(directory: string, node: string): ChildProcess {
  const module = new URL('./file-anchor.ts', import.meta.url).href;
  const code = `
    const { openNodesAnchor } = await import(${JSON.stringify(module)});
    try {
      globalThis.anchor = await openNodesAnchor(${JSON.stringify({ directory, node })});
      process.stdout.write('open\\n');
      setInterval(() => {}, 1000);
    } catch (error) {
      process.stdout.write(error.message + '\\n');
    }`;
  const args = ['--conditions=source', '--input-type=module', '--eval', code];
  return spawn(process.execPath, args, { stdio: ['ignore', 'pipe', 'inherit'] });
}

async function said(child: ChildProcess): Promise<string> {
  const [line] = (await once(child.stdout!, 'data')) as [Buffer];
  return line.toString();
}
