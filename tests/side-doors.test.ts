// No protocol is a side door. Rooms are kept apart by tests/tidy.test.ts, so a protocol knows neither nouns nor storage; here it is
// checked that it uses no other way through the gateway than the one that all calls take.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { isTest, type SourceFile, sourceFiles } from './source.ts';

/** What a protocol may take from the gateway: the entrance, the pipeline, and how things are said. */
const MODULES = ['pipeline', 'shown-error', 'correlation', 'versions', 'violations'];
/** Of the gateway itself: nothing by which a caller could be judged, or an operation reached, in another way. */
const MEMBERS = ['clock', 'growth', 'lifecycle', 'operations', 'versionStates'];

/** What is wrong, in words. */
function sideDoors({ path, text, imports }: Pick<SourceFile, 'path' | 'text' | 'imports'>): string[] {
  const found: string[] = [];
  for (const { specifier, typeOnly } of imports) {
    const module = /\/gateway\/([\w-]+)\.ts$/.exec(specifier)?.[1];
    if (module !== undefined && !MODULES.includes(module)) found.push(`imports ${specifier}`);
    if (specifier === '../../operations.ts' && !typeOnly)
      found.push(`imports more than types of ${specifier}`);
  }
  const taken = [
    ...[...text.matchAll(/\bgateway\.(\w+)/g)].map(([, name = '']) => name),
    ...[...text.matchAll(/\{([^{}]*)\}[^=;{}]*= (?:\w+\.|this\.#parts\.)*gateway;/g)].flatMap(
      ([, names = '']) => names.split(',').map((name) => name.split(':')[0]!.trim()),
    ),
    ...[...text.matchAll(/gateway: \{([^{}]*)\}/g)].flatMap(([, names = '']) =>
      names.split(',').map((name) => name.trim()),
    ),
  ];
  for (const name of taken)
    if (name !== '' && name !== 'ts' && !MEMBERS.includes(name)) found.push(`uses gateway.${name}`);
  // That an operation is served may be asked; the operation itself is called by the pipeline.
  for (const [call] of text.matchAll(/\boperations\[[^\]]*\](?! [!=]== undefined).{0,20}/g))
    found.push(`takes ${call}`);
  return found.map((what) => `${path} ${what}`);
}

test('protocols reach operations through the pipeline alone', () => {
  const files = sourceFiles().filter(
    ({ path }) => path.startsWith('packages/server/src/protocols/') && !isTest(path),
  );
  assert.ok(files.length > 100);
  assert.deepEqual(files.flatMap(sideDoors), []);
});

test('control: ways around the pipeline are found', () => {
  const rows: [text: string, imports: SourceFile['imports'], what: RegExp][] = [
    [
      "const answer = await gateway.operations['events.get']!(call, input);",
      [],
      /takes operations\['events\.get'\]/,
    ],
    ['const handler = operations[name];', [], /takes operations\[name\]/],
    ['const caller = await gateway.authenticate(credentials);', [], /uses gateway\.authenticate/],
    ['const { clock, tenancy } = parts.gateway;', [], /uses gateway\.tenancy/],
    ['function begin({ gateway: { answerOnce } }: Parts) {}', [], /uses gateway\.answerOnce/],
    ['', [{ specifier: '../../gateway/authenticate.ts', typeOnly: false }], /imports .*authenticate/],
    ['', [{ specifier: '../../operations.ts', typeOnly: false }], /more than types/],
  ];
  for (const [text, imports, what] of rows)
    assert.match(sideDoors({ path: 'x.ts', text, imports }).join(), what, text);
  assert.deepEqual(
    sideDoors({
      path: 'x.ts',
      text: 'const { clock } = parts.gateway; if (gateway.operations[name] !== undefined) gateway.clock.now();',
      imports: [{ specifier: '../../operations.ts', typeOnly: true }],
    }),
    [],
  );
});
