// Every example runs, and says what it should.

import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { describe, it } from 'node:test';
import { repositoryFiles, ROOT } from './source.ts';

const EXPECTED: Record<string, RegExp> = {
  'examples/verify-bundle.ts': /^verified: 20 entries of audit\.example\.com\/t\/acme, 20 open\n$/,
  'examples/prove-one-event.ts': /^verified: event 01KE0000000000000000000001, shown: \{(?!.*amount)/,
};

describe('examples', () => {
  for (const path of repositoryFiles().filter((file) => /^examples\/[^/]+\.ts$/.test(file))) {
    it(`${path} runs`, () => {
      const said = execFileSync(process.execPath, ['--conditions=source', path], {
        cwd: ROOT,
        encoding: 'utf8',
      });
      assert.match(said, EXPECTED[path]!);
    });
  }
});
