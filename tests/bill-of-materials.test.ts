// What the bill of materials lists. tests/outside/packages.test.ts compares the real one with what npm installs.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { type Bill, publishedBill } from '../packaging/bill-of-materials.ts';

const component = (name: string, version = '1.0.0') => ({
  'bom-ref': `${name}@${version}`,
  name: name.split('/').at(-1)!,
  version,
  purl: `pkg:npm/${name.replace('@', '%40')}@${version}`,
});

const WHOLE: Bill = {
  bomFormat: 'CycloneDX',
  serialNumber: 'urn:uuid:drawn',
  metadata: { timestamp: 'now', component: component('repository') },
  components: ['@our/command', '@our/service', 'database', 'tool', 'shared', 'cloud', 'old'].map((name) =>
    component(name),
  ),
  dependencies: [
    { ref: 'repository@1.0.0', dependsOn: ['@our/command@1.0.0', 'tool@1.0.0'] },
    { ref: '@our/command@1.0.0', dependsOn: ['@our/service@1.0.0'] },
    { ref: '@our/service@1.0.0', dependsOn: ['database@1.0.0', 'cloud@1.0.0', 'old@1.0.0'] },
    { ref: 'database@1.0.0', dependsOn: ['shared@1.0.0'] },
    { ref: 'tool@1.0.0', dependsOn: ['shared@1.0.0', 'database@1.0.0'] },
  ],
};

const PUBLISHED = {
  root: '@our/command',
  peers: new Set(['cloud']),
  copied: { '@our/service': [component('page', '2.0.0'), component('editor')] },
  licenses: { old: 'MIT' },
  at: new Date('2026-01-02T03:04:05Z'),
};

test('the bill has what the command needs, what a tool needs as well, and what is copied, and nothing else', () => {
  const { metadata, components, dependencies } = publishedBill(WHOLE, PUBLISHED);
  assert.equal(metadata.component.name, '@our/command');
  assert.deepEqual(
    components.map(({ name }) => name),
    ['@our/service', 'database', 'shared', 'old', 'page', 'editor'],
  );
  assert.deepEqual(dependencies.find(({ ref }) => ref === '@our/service@1.0.0')?.dependsOn, [
    'database@1.0.0',
    'old@1.0.0',
    'page@2.0.0',
    'editor@1.0.0',
  ]);
  assert.deepEqual(components.find(({ name }) => name === 'old')?.licenses, [{ license: { id: 'MIT' } }]);
});

test('it is the same each time, and another one where something else is in it', () => {
  const [one, again] = [publishedBill(WHOLE, PUBLISHED), publishedBill(WHOLE, PUBLISHED)];
  assert.deepEqual(one, again);
  assert.match(
    String(one['serialNumber']),
    /^urn:uuid:[\da-f]{8}-[\da-f]{4}-8[\da-f]{3}-[89ab][\da-f]{3}-[\da-f]{12}$/,
  );
  const other = publishedBill(WHOLE, { ...PUBLISHED, peers: new Set() });
  assert.notEqual(other['serialNumber'], one['serialNumber']);
});

test('a lockfile without the command is refused', () => {
  assert.throws(() => publishedBill(WHOLE, { ...PUBLISHED, root: '@our/other' }), /no @our\/other/);
});
