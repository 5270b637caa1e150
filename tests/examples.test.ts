// Every example runs, and says what it should.

import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { describe, it } from 'node:test';
import { readText, repositoryFiles, ROOT } from './source.ts';

const EXPECTED: Record<string, RegExp> = {
  'examples/verify-bundle.ts': /^verified: 20 entries of audit\.example\.com\/t\/acme, 20 open\n$/,
  'examples/prove-one-event.ts': /^verified: event 01KE0000000000000000000001, shown: \{(?!.*amount)/,
};

describe('examples', () => {
  for (const path of repositoryFiles().filter((file) => /^examples\/[^/]+\.ts$/.test(file))) {
    it(`${path} runs`, () => {
      assert.match(run(path), EXPECTED[path]!);
    });
  }

  it('the tamper drill finds what its README says, by what it says', () => {
    const said = run('examples/tamper-drill/main.ts', '--all');
    const blocks = [...readText('examples/tamper-drill/README.md').matchAll(/```\n([^]*?)```/g)];
    assert.deepEqual(
      blocks.filter(([, block]) => !said.includes(block!)).map(([, block]) => block),
      [],
      said,
    );
    assert.equal(blocks.length, 2);
  });
});

function run(...words: string[]): string {
  return execFileSync(process.execPath, ['--conditions=source', ...words], {
    cwd: ROOT,
    encoding: 'utf8',
    stdio: ['ignore', 'pipe', 'inherit'],
  });
}
