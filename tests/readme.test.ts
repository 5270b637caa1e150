// The README's commands, run as they are printed: the service is started, an event is sent, its proof is verified.

import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { shellBlocks, startByCommand } from './shell-blocks.ts';
import { shownText } from './shown.ts';
import { readText } from './source.ts';

/** What the README does in words: one value of the proof is changed. */
const CHANGE = 'sed -i s/INV-42/INV-43/ $DIR/proof.json';
const VERIFY_AGAIN =
  'npx tallystick verify $DIR/proof.json --key $DIR/log.key || echo "exit code $?"; rm -r $DIR';

describe("the README's quick start", () => {
  it('is one command to start it, and the rest works against it, with the answers that are shown', async () => {
    const [first, ...rest] = shellBlocks('README.md');
    assert.equal(first, 'npm ci && npm start');
    await using service = await startByCommand('npm start --silent');
    const [sent, verified, changed] = service.run([...rest, `${CHANGE}\n${VERIFY_AGAIN}`]);
    assert.match(sent!, /"status":"Accepted"/);
    const [good, bad] = shownVerdicts();
    assert.match(verified!, new RegExp(`^\\s*${good!.source}\\s*$`));
    assert.match(changed!, bad!);
    assert.match(changed!, /exit code 1\n/);
  });
});

/** What is printed. */
function shownVerdicts(): RegExp[] {
  const shown = [...readText('README.md').matchAll(/```\n((?:verified|NOT verified) [^]*?)```/g)];
  assert.equal(shown.length, 2);
  return shown.map(([, text]) => shownText(text!));
}
