// The guide to GraphQL, run as it is printed.

import assert from 'node:assert/strict';
import { it } from 'node:test';
import { shellBlocks, shownAnswers, startWithoutNpm } from './shell-blocks.ts';
import { assertShown } from './shown.ts';

it('docs/guides/graphql.md does what it says', async () => {
  await using service = await startWithoutNpm();
  const guide = 'docs/guides/graphql.md';
  const blocks = shellBlocks(guide);
  const answers = service.run(blocks);
  const shown = shownAnswers(guide);
  assert.equal(shown.size, blocks.length - 1, 'every block but the first has its answer');
  for (const [i, { text }] of shown) assertShown(JSON.parse(answers[i]!), JSON.parse(text), blocks[i]);
});
