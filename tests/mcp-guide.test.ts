// The commands of docs/guides/mcp.md, run as they are printed.

import assert from 'node:assert/strict';
import { it } from 'node:test';
import { shellBlocks, startByCommand } from './shell-blocks.ts';

it('docs/guides/mcp.md does what it says', async () => {
  await using service = await startByCommand('npm start --silent');
  const [setUp, bridged, counted, found, verified] = service.run(shellBlocks('docs/guides/mcp.md'));
  assert.match(setUp!, /"successCount":3/);
  assert.equal(bridged!.trim(), '"protocolVersion":"2025-11-25"');
  assert.match(counted!, /"totalCount":3,.*"byAction":\[\{"key":"Delete\.Invoice","count":2\},/);
  assert.equal(found!.trim(), '"userId":"ben"');
  assert.equal(verified!.trim(), '"structuredContent":{"verified":true');
});
