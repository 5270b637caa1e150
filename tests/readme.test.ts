// The README's commands, run as they are printed: the service is started, an event is sent, its proof is verified.

import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { OPERATION_GROUPS, operationNamed, PLANNED_PROTOCOLS } from '@tallystick/contract';
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

it("the README's state names what is planned, and nothing that is served", () => {
  const notYet =
    /Not implemented yet: ([^.]+)\./.exec(readText('README.md').replaceAll('\n> ', ' '))?.[1] ?? '';
  const isPlanned = (group: keyof typeof OPERATION_GROUPS) =>
    OPERATION_GROUPS[group].every((each) => 'planned' in each);
  const expected = {
    deletion: operationNamed('events.redact').planned === true,
    policies: isPlanned('Policies and holds'),
    'legal holds': operationNamed('holds.create').planned === true,
    exports: isPlanned('Exports'),
    webhooks: isPlanned('Webhooks'),
    'rate limits': operationNamed('rateLimits.replenish').planned === true,
    'protocols other than REST': PLANNED_PROTOCOLS.length > 0,
  };
  for (const [words, planned] of Object.entries(expected))
    assert.equal(notYet.split(', ').includes(words), planned, `${words} in: ${notYet}`);
});

/** What is printed. */
function shownVerdicts(): RegExp[] {
  const shown = [...readText('README.md').matchAll(/```\n((?:verified|NOT verified) [^]*?)```/g)];
  assert.equal(shown.length, 2);
  return shown.map(([, text]) => shownText(text!));
}
