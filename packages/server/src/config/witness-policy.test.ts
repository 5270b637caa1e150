import assert from 'node:assert/strict';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, test } from 'node:test';
import { cosigner, sha256 } from '@tallystick/evidence';
import { ConfigError } from './config-error.ts';
import { loadConfig } from './config.ts';
import { readWitnessPolicy } from './witness-policy.ts';

const folder = mkdtempSync(join(tmpdir(), 'tallystick-policy-'));
after(() => rmSync(folder, { recursive: true }));

const keyOf = async (name: string) =>
  (await cosigner(name, sha256(new TextEncoder().encode(name)))).verifierKey;
const [a, b] = [await keyOf('a.example/w'), await keyOf('b.example/w')];

let files = 0;
const fileWith = (text: string | Uint8Array) => {
  const file = join(folder, `policy-${++files}`);
  writeFileSync(file, text);
  return file;
};
const read = (file?: string) => {
  const variables = file === undefined ? {} : { Log__WitnessPolicy: file };
  return readWitnessPolicy(loadConfig({ variables, workingDirectory: folder }).config);
};

test('without the setting there are no witnesses', async () => {
  assert.equal(await read(), undefined);
});

test('a policy is read with its witnesses and its quorum', async () => {
  const text = `# ours\nwitness a ${a} https://a.example/\nwitness b ${b}\nquorum a\n`;
  const policy = await read(fileWith(text));
  assert.deepEqual(
    policy?.witnesses.map(({ name, url }) => [name, url]),
    [
      ['a', 'https://a.example/'],
      ['b', undefined],
    ],
  );
  assert.equal(policy?.quorum, 'a');
});

test('a witness on this machine may be asked over plain http', async () => {
  for (const url of ['http://127.0.0.1:8090', 'http://localhost:8090/w', 'http://[::1]/']) {
    const policy = await read(fileWith(`witness a ${a} ${url}\nquorum a\n`));
    assert.equal(policy?.witnesses[0]?.url, url);
  }
});

test('a file that cannot be used stops the start, and says which line is wrong', async () => {
  const at = 'https://a.example/';
  const cases: [string | Uint8Array, RegExp][] = [
    [`witness a ${a} ${at}\nquorum b\n`, /^Log__WitnessPolicy: \S+: line 2: "b" is no witness/],
    [`witness a ${a} ${at}\n`, /policy has no quorum line/],
    ['', /policy has no quorum line/],
    [`witness a ${a}\nquorum none\n`, /no witness has an address/],
    ['quorum none\n', /no witness has an address/],
    [`witness a ${a} ${at}\nwitness b ${b}\ngroup g all a b\nquorum g\n`, /not enough for the quorum g/],
    [`witness a ${a} a.example\nquorum a\n`, /witness a: a\.example is no address/],
    [`witness a ${a} ftp://a.example/\nquorum a\n`, /witness a: ftp:/],
    [
      `witness a ${a} http://a.example/\nquorum a\n`,
      /witness a: http:\/\/a\.example\/ is plain http; a witness on another machine needs https$/,
    ],
    [Uint8Array.of(0xff), /cannot read/],
  ];
  for (const [text, expected] of cases) {
    await assert.rejects(read(fileWith(text)), (error) => {
      assert.ok(error instanceof ConfigError);
      assert.match(error.problems.join('\n'), expected);
      return true;
    });
  }
  await assert.rejects(read(join(folder, 'nothing')), /Log__WitnessPolicy: cannot read \S+ \(ENOENT\)/);
});
