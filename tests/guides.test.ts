// The guides' commands, run as they are printed, with the answers that the guides promise.

import assert from 'node:assert/strict';
import { it } from 'node:test';
import { shellBlocks, startByCommand } from './shell-blocks.ts';

it('docs/guides/send.md does what it says', async () => {
  await using service = await startByCommand('npm start --silent');
  const [setUp, one, readBack, repeated, batch] = service.run(shellBlocks('docs/guides/send.md'));
  assert.equal(setUp!.trim(), '');
  assert.match(one!, /"status":"Accepted".*"idempotent":false/);
  assert.match(readBack!, /"action":"Rotate\.Key".*"integrity":\{"streamId"/);
  assert.match(repeated!, /"idempotent":false[\s\S]*"idempotent":true/);
  assert.match(batch!, /"status":"PartialSuccess".*"successCount":1,"failureCount":1/);
});
