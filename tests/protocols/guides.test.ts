// The commands of the protocols' guides, run as they are printed, with the answers that the guides promise.

import assert from 'node:assert/strict';
import { it } from 'node:test';
import { shellBlocks, shownAnswers, startWithoutNpm } from '../shell-blocks.ts';
import { assertShown, shownText } from '../shown.ts';
import { readText } from '../source.ts';

it('docs/guides/soap.md does what it says', async () => {
  await using service = await startWithoutNpm();
  const guide = 'docs/guides/soap.md';
  const blocks = shellBlocks(guide);
  const answers = service.run(blocks);
  const shown = shownAnswers(guide);
  assert.deepEqual([...shown.keys()], [1, 2]);
  for (const [i, { text }] of shown)
    assert.match(answers[i]!.trim(), new RegExp(`^${shownText(text.trim()).source}$`), blocks[i]);
});

it('docs/guides/grpc.md does what it says', async () => {
  await using service = await startWithoutNpm();
  const guide = 'docs/guides/grpc.md';
  const answers = service.run(shellBlocks(guide));
  const shown = [...readText(guide).matchAll(/\n\n```\n([^`]*)```/g)].map(([, text]) => text);
  assert.equal(shown.length, 2);
  assert.deepEqual(
    answers.slice(1).map((answer) => answer.trimStart()),
    shown,
  );
});

it('docs/guides/graphql.md does what it says', async () => {
  await using service = await startWithoutNpm();
  const guide = 'docs/guides/graphql.md';
  const blocks = shellBlocks(guide);
  const answers = service.run(blocks);
  const shown = shownAnswers(guide);
  assert.equal(shown.size, blocks.length - 1, 'every block but the first has its answer');
  for (const [i, { text }] of shown) assertShown(JSON.parse(answers[i]!), JSON.parse(text), blocks[i]);
});
