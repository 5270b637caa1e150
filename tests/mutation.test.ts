// The mutation harness itself: which mistakes it makes, which it leaves alone, and that it tells the noticed from the
// unnoticed. The whole of it runs by npm run test:mutants.

import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { before, describe, it } from 'node:test';
import { fileURLToPath } from 'node:url';
import { listedAs, type MutatedText, mutantsByFile, readEquivalents } from './mutation/equivalents.ts';
import { Sandbox } from './mutation/sandbox.ts';

const mutantsOf = (text: string): string[] =>
  mutantsByFile(new Map([['x.ts', text]]))
    .get('x.ts')!
    .map((one) => one.becomes);

describe('mutants', () => {
  it('are made of comparisons, conditions, arithmetic, literals, returns and calls', () => {
    assert.deepEqual(mutantsOf('if (a < b && !c) throw d;').toSorted(), [
      'if (!c) throw d;',
      'if (a < b && c) throw d;',
      'if (a < b) throw d;',
      'if (a <= b && !c) throw d;',
      'if (false) throw d;',
    ]);
    assert.deepEqual(mutantsOf('const size = 7;').toSorted(), [
      'const size = (7 + 1);',
      'const size = (7 - 1);',
    ]);
    assert.deepEqual(mutantsOf('verify(x.slice(1));').toSorted(), [
      ';',
      'verify(x);',
      'verify(x.slice((1 + 1)));',
    ]);
    assert.deepEqual(mutantsOf("function f() { return a + 'b'; }").toSorted(), [
      "function f() { return a + ''; }",
      'function f() { return undefined; }',
    ]);
  });

  it('leave types, imports and the words of messages alone', () => {
    assert.deepEqual(mutantsOf("import { a } from './a.ts';\ntype B = 'b' | 1;\ninterface C { d: 'e' }"), []);
    const refusing = "function refused(message: string): void {}\nrefused('so many: ' + (1 + 2));";
    assert.deepEqual(mutantsOf(refusing), [';']);
    assert.deepEqual(mutantsOf("const message = 'it is 1' + a;"), []);
  });
});

describe('equivalent mutants', () => {
  let made: Map<string, MutatedText[]>;

  before(() => {
    using sandbox = new Sandbox();
    made = mutantsByFile(new Map(sandbox.files().map((path) => [path, sandbox.read(path)])));
  });

  it('are still made of the code they are listed for, and say why', () => {
    const listed = readEquivalents();
    const unmade = listed.filter(
      (one) => !made.get(one.file)?.some((mutant) => listedAs([one], mutant) !== undefined),
    );
    assert.deepEqual(unmade, []);
    assert.deepEqual(
      listed.filter(({ reason }) => reason.length < 20),
      [],
    );
  });

  it('are each listed once', () => {
    const listed = readEquivalents().map(({ file, was, becomes }) => `${file}\n${was}\n${becomes}`);
    assert.equal(new Set(listed).size, listed.length);
  });
});

describe('the sandbox', () => {
  it('lets a mistake live that no test notices, and sees the others killed', async () => {
    using sandbox = new Sandbox();
    const tests = [{ path: 'tree/tree.test.ts', seconds: 5 }];
    const text = sandbox.read('tree/tree.ts');
    const broken = text.replace('LEAF_PREFIX = 0x00', 'LEAF_PREFIX = 0x02');
    assert.notEqual(broken, text);
    assert.equal(await sandbox.outcomeOf('tree/tree.ts', `${text}\n// no mistake\n`, tests), 'Survived');
    assert.equal(await sandbox.outcomeOf('tree/tree.ts', broken, tests), 'Killed');
    assert.equal(
      await sandbox.outcomeOf('tree/tree.ts', text.replaceAll(' return ', ' for (;;); return '), [
        { ...tests[0]!, seconds: 0 },
      ]),
      'TimedOut',
    );
    assert.equal(sandbox.read('tree/tree.ts'), text);
  });

  it('is not made for a path that is none', () => {
    const main = fileURLToPath(new URL('./mutation/main.ts', import.meta.url));
    const { status, stderr } = spawnSync(process.execPath, [main, 'nowhere/'], { encoding: 'utf8' });
    assert.equal(status, 2);
    assert.match(stderr, /^no file of the verifier begins with nowhere\//);
  });
});
