import assert from 'node:assert/strict';
import { test } from 'node:test';
import { canonicalJson, parseJson } from '@tallystick/evidence';
import * as fc from 'fast-check';
import { runs } from '../../../evidence/src/testing/size.ts';
import { writeJson } from '../written-json.ts';
import { contentIn, contentTextOf, textOf } from './content-text.ts';

const SEED = 20_261_117;
const RUNS = runs(2000);
const key = fc.oneof(
  fc.string(),
  fc.constantFrom('"', '\\', '{', '}', ']', ',"payload":', '{"context":', '9', '10', '__proto__'),
);
const free = fc.dictionary(key, fc.oneof(key, fc.jsonValue({ maxDepth: 3 })), { noNullPrototype: true });
const anyContent = fc.record({ context: free, payload: free }, { requiredKeys: [] });
const isIndex = (name: string) => String(Number(name) >>> 0) === name;

const stored = ({ context, payload }: { context?: object; payload?: object }) =>
  Buffer.from(contentTextOf(textOf(context), textOf(payload))).toString();

test('what is shown of a stored text is that text, in its two members', () => {
  fc.assert(
    fc.property(anyContent, (content) => {
      const text = stored(content);
      assert.equal(text, canonicalJson(content));
      const shown = contentIn(text);
      assert.deepEqual(Object.keys(shown!), Object.keys(content).toSorted());
      assert.equal(writeJson(shown), text);
    }),
    { seed: SEED, numRuns: RUNS },
  );
});

test('only keys that look like an index come in another order than the engine would write them', () => {
  let same = 0;
  fc.assert(
    fc.property(anyContent, (content) => {
      const text = stored(content);
      // The engine puts such keys first, by number; in JSON the order of keys means nothing.
      const hasIndex = [...text.matchAll(/"((?:[^"\\]|\\.)*)":/g)].some(([, name]) => isIndex(name!));
      if (hasIndex) return;
      same += 1;
      assert.equal(writeJson(contentIn(text)), JSON.stringify(parseJson(text)));
    }),
    { seed: SEED, numRuns: RUNS },
  );
  assert.ok(same > RUNS / 4, `${same} were written alike`);
  assert.equal(writeJson(contentIn('{"payload":{"10":1,"9":2}}')), '{"payload":{"10":1,"9":2}}');
});

test('a text of another spelling shows nothing', () => {
  const texts = [
    '',
    '[]',
    '{"\\u0063ontext":{}}',
    '{"context":1}',
    '{"context":"}"}',
    '{"context":{}',
    '{"context":{"a',
    '{"context":{},"payloads":{}}',
    '{"context":{} }',
  ];
  for (const text of texts) assert.equal(contentIn(text), undefined, text);
});
