// The guides' commands, run as they are printed, with the answers that the guides promise.

import assert from 'node:assert/strict';
import { it } from 'node:test';
import { freePort } from '../packages/server/src/testing/free-port.ts';
import { shellBlocks, shownAnswers, startWithoutNpm } from './shell-blocks.ts';
import { assertShown, shownText } from './shown.ts';
import { readText } from './source.ts';

it('docs/guides/send.md does what it says', async () => {
  await using service = await startWithoutNpm();
  const [setUp, one, refused, classified, readBack, repeated, batch] = service.run(
    shellBlocks('docs/guides/send.md'),
  );
  assert.equal(setUp!.trim(), '');
  assert.match(one!, /"status":"Accepted".*"idempotent":false/);
  const shown = /```json\n(\{ "error": [^]*?)```/.exec(readText('docs/guides/send.md'))![1]!;
  assert.deepEqual(faultsIn(refused!), faultsIn(shown));
  assert.ok(readText('docs/guides/send.md').includes(`\n\`\`\`${classified}\`\`\`\n`), classified);
  assert.match(readBack!, /"action":"Rotate\.Key".*"integrity":\{"streamId"/);
  assert.match(repeated!, /"idempotent":false[\s\S]*"idempotent":true/);
  assert.match(batch!, /"status":"PartialSuccess".*"successCount":1,"failureCount":1/);
});

it('docs/guides/search.md does what it says', async () => {
  await using service = await startWithoutNpm();
  const [setUp, table, json, list, search] = service.run(shellBlocks('docs/guides/search.md'));
  assert.match(setUp!, /"status":"Completed".*"successCount":3/);
  assert.ok(readText('docs/guides/search.md').includes(`\n\`\`\`${table}\`\`\`\n`), table);
  assert.equal(json!.trim(), '"userId":"ana"');
  assert.match(list!, /"userId":"ben".*"total":2,.*"hasMore":false/);
  assert.match(search!, /"highlights":\{"action":\["Delete\.«Invoice»"\].*"totalCount":3,/);
  assert.match(search!, /"byAction":\[\{"key":"Delete\.Invoice","count":2\},/);
});

it('docs/guides/schedules.md does what it says', async () => {
  await using service = await startWithoutNpm();
  const guide = 'docs/guides/schedules.md';
  const answers = service.run(shellBlocks(guide));
  const shown = shownAnswers(guide);
  assert.deepEqual([...shown.keys()], [1, 3]);
  for (const [i, { text }] of shown)
    assert.match(answers[i]!.trimStart(), new RegExp(`^${shownText(text).source}$`));
  assert.match(answers[2]!, /SCHEDULE ID[^]*to the auditor +Day +yes/);
});

it('docs/guides/received-export.md does what it says', async () => {
  await using service = await startWithoutNpm();
  const guide = 'docs/guides/received-export.md';
  const blocks = shellBlocks(guide);
  const answers = service.run(blocks);
  const shown = shownAnswers(guide);
  assert.equal(shown.size, 2, 'a verdict of either kind');
  for (const [i, { text }] of shown)
    assert.match(answers[i]!.trimStart(), new RegExp(`^${shownText(text).source}$`), blocks[i]);
});

for (const guide of ['docs/guides/policies.md', 'docs/guides/legal-hold.md'])
  it(`${guide} does what it says`, async () => {
    await using service = await startWithoutNpm();
    const blocks = shellBlocks(guide);
    const answers = service.run(blocks);
    const shown = shownAnswers(guide);
    assert.equal(shown.size, blocks.length, 'every block has its answer');
    for (const [i, { isJson, text }] of shown) {
      if (isJson) assertShown(JSON.parse(answers[i]!), JSON.parse(text), blocks[i]);
      else assert.match(answers[i]!.trimStart(), new RegExp(`^${shownText(text).source}`), blocks[i]);
    }
  });

it('docs/guides/webhooks.md does what it says', async () => {
  await using service = await startWithoutNpm({ Webhooks__AllowPrivateTargets: 'true' });
  const guide = 'docs/guides/webhooks.md';
  const port = String(await freePort());
  const withPort = (text: string) => text.replaceAll('8095', port);
  const blocks = shellBlocks(guide);
  // Nothing goes on where a block fails.
  const tidied = ["trap 'kill $LISTENING 2> /dev/null || true' EXIT", ...blocks.map(withPort)];
  const [, ...answers] = service.run(tidied);
  const shown = shownAnswers(guide);
  // The last one tidies up.
  assert.equal(shown.size, blocks.length - 1);
  for (const [i, { isJson, text }] of shown) {
    if (isJson) assertShown(JSON.parse(answers[i]!), JSON.parse(text), blocks[i]);
    else assert.match(answers[i]!.trimStart(), new RegExp(`^${shownText(withPort(text)).source}`), blocks[i]);
  }
});

it('docs/guides/exports.md does what it says', async () => {
  await using service = await startWithoutNpm();
  const [setUp, deleted, requested, lines] = service.run(shellBlocks('docs/guides/exports.md'));
  assert.match(setUp!, /"successCount":2/);
  assert.match(
    deleted!,
    /status +Completed\n[^]*\ntimestamp,actor\.userName,action\n[^]*,Delete\.Invoice\n$/,
  );
  assert.equal(requested!.trim(), '');
  assert.deepEqual(
    lines!
      .trim()
      .split('\n')
      .map((line) => (JSON.parse(line) as { action: string }).action),
    ['Create.Invoice', 'Delete.Invoice'],
  );
});

it('docs/guides/verify.md does what it says', async () => {
  await using service = await startWithoutNpm();
  const [setUp, proof, bundle, first, next] = service.run(shellBlocks('docs/guides/verify.md'));
  assert.match(setUp!.trim(), /^tallystick\.local\/\w{26}\/t\/demo\+[0-9a-f]{8}\+\S+$/);
  assert.match(proof!, /^verified [^]*shown +whole\n[^]*"action": "Delete\.Invoice"/m);
  assert.match(bundle!, /^wrote [^]*^verified [^]*none left out/m);
  assert.match(first!, /^verified [^]*nothing was seen of this log before[^]*, as given/m);
  assert.match(next!, /^verified [^]*extends the checkpoint[^]*all 2 read[^]*known from before/m);
});

it('docs/operating/run.md makes and suspends a tenant, and verifies a stream, as it says', async () => {
  await using service = await startWithoutNpm();
  const [tenants, begin, look] = shellBlocks('docs/operating/run.md');
  const refusedLook = `( KEY=none\n${look} ) 2>&1 & LOOKING=$!
for _ in $(seq 300); do kill -0 $LOOKING 2> /dev/null || break; sleep 0.2; done
if kill $LOOKING 2> /dev/null; then echo 'it looks for ever'; fi`;
  const [changed, begun, ended, refused] = service.run([tenants!, begin!, look!, refusedLook]);
  assert.match(changed!, /"tier":"Premium".*"version":1[^]*"status":"Suspended".*"version":2/);
  assert.match(begun!, /"operationId":"\w{26}","status":"(Pending|Processing|Completed)"/);
  assert.match(
    ended!,
    /"status":"Completed".*"verdict":\{"verified":true,"firstSequence":1,"lastSequence":1,/,
  );
  assert.match(refused!, /^\s*(curl: \(22\) .* 401\s+){2}$/, 'a refusal ends it, and is shown');
});

/** What an error says that is the same each time. */
function faultsIn(answer: string): unknown {
  const { code, message, details } = (JSON.parse(answer) as { error: Record<string, unknown> }).error;
  return { code, message, details };
}
