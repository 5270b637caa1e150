// XML of exports is well-formed whatever an event has, and its schema knows what events have. tests/outside/xml-schema.test.ts validates
// by xmllint.

import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { asJson, AuditEvent, type JsonSchema } from '@tallystick/contract';
import * as fc from 'fast-check';
import { XML } from './xml.ts';

const SCHEMA = join(import.meta.dirname, '../../../../../docs/formats/export.xsd');
const PROLOG = '<?xml version="1.0" encoding="UTF-8"?>\n';
const TAG = /^<(\/?)([A-Za-z_][\w.-]*)(?: [a-z]+="[^<&"]*")*>$/;
const REFERENCE = /&(?!(?:amp|lt|gt|#13);)/;

/** XML 1.0, as far as exports use it: elements, attributes, characters and references. */
function requireWellFormed(bytes: Uint8Array): void {
  const text = new TextDecoder('utf-8', { fatal: true }).decode(bytes);
  // oxlint-disable-next-line no-control-regex
  assert.doesNotMatch(text, /[^\t\n\r\u{20}-\u{D7FF}\u{E000}-\u{FFFD}\u{10000}-\u{10FFFF}]/u);
  // A reader would turn it into a line feed.
  assert.ok(!text.includes('\r'));
  assert.ok(text.startsWith(PROLOG));
  const open: string[] = [];
  let roots = 0;
  for (const [token] of text.slice(PROLOG.length).matchAll(/<[^>]*>|[^<]+/g)) {
    if (!token.startsWith('<')) {
      assert.doesNotMatch(token, REFERENCE);
      assert.ok(!token.includes(']]>'));
      assert.ok(open.length > 0 || token === '\n', 'no text stands outside of the root');
      continue;
    }
    const [, isEnd, name] = TAG.exec(token) ?? assert.fail(`${token} is no tag`);
    if (isEnd === '') {
      if (open.length === 0) roots++;
      open.push(name!);
    } else assert.equal(open.pop(), name);
  }
  assert.deepEqual([open, roots], [[], 1]);
}

const eventWith = (text: string): AuditEvent => ({
  eventId: '01KE0000000000000000000001',
  tenantId: 'acme',
  kind: 'Event',
  sequence: 7,
  timestamp: '2026-01-01T00:00:00Z',
  receivedAt: '2026-01-01T00:00:01.000Z',
  correlationId: '2f1b3c4d-0000-4000-8000-000000000001',
  actor: { actorType: 'User', userId: text, userName: `${text}${text}` },
  action: 'Delete.Invoice',
  resource: { resourceType: text, resourceId: text, resourceName: text },
  classification: 'Internal',
  outcome: 'Success',
  submittedBy: text,
  context: { [text]: text },
  payload: { text, list: [text, { [text]: [text] }] },
  redaction: { fields: [text, `payload.${text}`], reason: 'AccessPolicy' },
  retention: { expiresAt: '2033-01-01T00:00:00.000Z', legalHold: false },
  integrity: {
    streamId: '01KE0000000000000000000002',
    leafIndex: 6,
    leafHash: 'ab'.repeat(32),
    previousHash: 'cd'.repeat(32),
    status: 'Checkpointed',
  },
});

const fileOf = (...texts: string[]): Buffer =>
  Buffer.from(XML.begin + texts.map((text) => XML.write(eventWith(text))).join(XML.between) + XML.end);

test('every single UTF-16 code unit, lone halves of pairs too, gives well-formed XML', () => {
  const units = Array.from({ length: 0x10000 }, (_, unit) => unit);
  for (let at = 0; at < units.length; at += 4096) {
    const texts = units.slice(at, at + 4096).map((unit) => String.fromCharCode(unit));
    // One for each would take minutes; neighbours do not depend on each other, since each is an event.
    requireWellFormed(fileOf(...texts));
  }
});

test('any text gives well-formed XML', () => {
  const units = fc.array(fc.integer({ min: 0, max: 0xffff }), { maxLength: 20 });
  const anyText = fc.oneof(
    fc.string({ unit: 'binary' }),
    units.map((each) => String.fromCharCode(...each)),
    fc.constantFrom(
      ']]>',
      '<!--',
      '-->',
      '<?xml?>',
      '&#0;',
      '&amp;',
      '</event>',
      '<![CDATA[',
      '\r\n',
      '\'"',
      '',
    ),
  );
  const property = fc.property(fc.array(anyText, { maxLength: 4 }), (texts) =>
    requireWellFormed(fileOf(...texts, texts.join(''))),
  );
  fc.assert(property, { numRuns: 500 });
});

test('the check of well-formedness finds what is not', () => {
  const sound = String(fileOf('plain'));
  const sins: [string, string][] = [
    ['<userId>plain', '<userId>pl\u0001ain'],
    ['<userId>plain', '<userId>a & b'],
    ['<userId>plain', '<userId>a < b'],
    ['</userId>', '</userID>'],
    ['</events>', '</events><events></events>'],
    ['<userId>plain', '<userId>a]]>'],
  ];
  for (const [from, to] of sins) {
    assert.ok(sound.includes(from), from);
    assert.throws(() => requireWellFormed(Buffer.from(sound.replace(from, to))), /./, to);
  }
});

test('the schema has the members that an event has, and no others', () => {
  const schema = readFileSync(SCHEMA, 'utf8');
  const typeOf = (name: string): string =>
    new RegExp(`<xs:complexType name="${name}">([^]*?)</xs:complexType>\n\n`).exec(schema)?.[1] ??
    assert.fail(`the schema has no type ${name}`);
  const membersIn = (name: string) =>
    [...typeOf(name).matchAll(/^ {6}<xs:element name="(\w+)"[^>]*?( minOccurs="0")?\/?>$/gm)].map(
      ([, member, optional]) => `${member}${optional === undefined ? '' : '?'}`,
    );
  const membersOf = ({ properties = {}, required = [] }: JsonSchema) =>
    Object.entries(properties)
      .filter(([, member]) => !('x-added-in' in member))
      .map(([name]) => `${name}${required.includes(name) ? '' : '?'}`);
  const event = asJson(AuditEvent);
  // Notices are sent by nobody.
  const expected = membersOf(event).map((name) => (name === 'submittedBy' ? 'submittedBy?' : name));
  assert.deepEqual(membersIn('event').toSorted(), expected.toSorted());
  for (const name of ['actor', 'resource', 'redaction', 'retention', 'integrity'])
    assert.deepEqual(membersIn(name).toSorted(), membersOf(event.properties![name]!).toSorted(), name);
  for (const name of ['kind', 'classification', 'outcome'])
    assert.deepEqual(wordsIn(schema, name), event.properties![name]!.enum, name);
  const { actorType } = event.properties!['actor']!.properties!;
  assert.deepEqual(wordsIn(schema, 'actorType'), actorType!.enum);
});

function wordsIn(schema: string, name: string): string[] {
  const type = new RegExp(`<xs:simpleType name="${name}">([^]*?)</xs:simpleType>`).exec(schema)![1]!;
  return [...type.matchAll(/<xs:enumeration value="(\w+)"\/>/g)].map(([, word]) => word!);
}
