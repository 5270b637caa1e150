// What the scanner tells of sound XML, and what it refuses: all that XML refuses but in a document type, and that too.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { AuditError } from '@tallystick/contract';
import * as fc from 'fast-check';
import { XmlText } from './characters.ts';
import { XmlScanner } from './scan.ts';

/** As a tree in brackets: `{urn:a}a[x=1 text {}b[]]`. */
function told(xml: string | Uint8Array): string {
  let out = '';
  const scanner = new XmlScanner(typeof xml === 'string' ? Buffer.from(xml) : xml, {
    start({ namespace, local }, attributes) {
      const shown = attributes.map((each) => `${each.namespace}|${each.local}=${each.value};`);
      out += `{${namespace}}${local}[${shown.join('')}`;
    },
    text: (piece) => void (out += piece),
    end: () => void (out += ']'),
  });
  while (scanner.step());
  return out;
}

function codeOf(xml: string | Uint8Array): string {
  try {
    return told(xml);
  } catch (error) {
    if (error instanceof AuditError) return error.code;
    throw error;
  }
}

test('elements, attributes, text, CDATA and references are told as they mean', () => {
  const table: [xml: string, expected: string][] = [
    ['<a/>', '{}a[]'],
    ['\uFEFF<?xml version="1.0" encoding="utf-8" standalone=\'yes\' ?>\n<a></a >\n<!-- x -->', '{}a[]'],
    ['<a x="1" y=\'"&lt;&#65;\t\n\'>t</a>', '{}a[|x=1;|y="<A  ;t]'],
    ['<a> &amp;&lt;&gt;&quot;&apos;&#x1F600;&#10; </a>', '{}a[ &<>"\'😀\n ]'],
    ['<a>1\r\n2\r3</a>', '{}a[1\n2\n3]'],
    ['<a><![CDATA[<&amp;]]]]><![CDATA[>]]></a>', '{}a[<&amp;]]>]'],
    ['<a>b<!-- c -->d</a>', '{}a[bd]'],
    [
      '<p:a xmlns:p="urn:p" p:x="1"><b xmlns="urn:b"><p:c/></b><d/></p:a>',
      '{urn:p}a[urn:p|x=1;{urn:b}b[{urn:p}c[]]{}d[]]',
    ],
    ['<a xmlns="urn:a"><b xmlns=""/><c xmlns="urn:c"/><d/></a>', '{urn:a}a[{}b[]{urn:c}c[]{urn:a}d[]]'],
    ['<a xml:lang="en"/>', '{}a[http://www.w3.org/XML/1998/namespace|lang=en;]'],
    ['<é.-1 ü="ß"/>', '{}é.-1[|ü=ß;]'],
  ];
  for (const [xml, expected] of table) assert.equal(told(xml), expected, xml);
});

const MALFORMED: readonly string[] = [
  '',
  ' ',
  'a',
  '<',
  '<a',
  '<a>',
  '</a>',
  '<a></b>',
  '<a/><b/>',
  '<a/>b',
  'b<a/>',
  '<a></a/>',
  '<a b/>',
  '<a b=1/>',
  '<a b="1"c="2"/>',
  '<a b="1" b="2"/>',
  '<a b="<"/>',
  '<a b="&"/>',
  '<a b="1/>',
  '< a/>',
  '<1/>',
  '<a:b/>',
  '<a x:b="1"/>',
  '<a:b:c xmlns:a="urn:a"/>',
  '<:a/>',
  '<a:/>',
  '<a xmlns:p=""/>',
  '<a xmlns:xmlns="u"/>',
  '<a xmlns:xml="urn:x"/>',
  '<a xmlns:x="http://www.w3.org/XML/1998/namespace"/>',
  '<a xmlns:p="u" xmlns:q="u" p:x="1" q:x="2"/>',
  '<a xmlns:p="u" xmlns:p="v"/>',
  '<a xmlns="u" xmlns="v"/>',
  '<a>&</a>',
  '<a>&b;</a>',
  '<a>&amp</a>',
  '<a>&#0;</a>',
  '<a>&#xD800;</a>',
  '<a>&#x110000;</a>',
  '<a>&#xFFFE;</a>',
  '<a>&#1;</a>',
  '<a>&toString;</a>',
  '<a>&#;</a>',
  '<a>&#x;</a>',
  '<a>&#99999999999;</a>',
  '<a>\u0001</a>',
  '<a>\uFFFF</a>',
  '<a>]]></a>',
  '<a><![CDATA[</a>',
  '<![CDATA[x]]>',
  '<a/><![CDATA[]]>',
  '<a><!-- -- --></a>',
  '<a><!-- </a>',
  '<a><!-----></a>',
  '<a><?p x?></a>',
  '<?p x?><a/>',
  '<a/><?p?>',
  ' <?xml version="1.0"?><a/>',
  '<?xml version="1.1"?><a/>',
  '<?xml version="1.0" encoding="latin1"?><a/>',
  '<?xml encoding="utf-8"?><a/>',
  '<a><?xml version="1.0"?></a>',
  '<!DOCTYPE a><a/>',
  '<!doctype a><a/>',
  '<!-- x --><!DOCTYPE a [<!ENTITY b "c">]><a>&b;</a>',
  '<a><!ENTITY b "c"></a>',
  '<!DOCTYPE a SYSTEM "file:///etc/passwd"><a/>',
  '<!DOCTYPE a [<!ENTITY % b SYSTEM "http://127.0.0.1/">%b;]><a/>',
];

test('what is no sound XML, or declares anything, is refused', () => {
  for (const xml of MALFORMED) assert.equal(codeOf(xml), 'MALFORMED_XML', xml);
  assert.equal(codeOf(Buffer.from('<a>\xff</a>', 'latin1')), 'MALFORMED_XML');
  assert.equal(codeOf(Buffer.from('\ufeff<a/>', 'utf16le')), 'MALFORMED_XML');
  assert.equal(codeOf(Buffer.from('<!DOCTYPE a><a/>', 'utf16le')), 'MALFORMED_XML');
});

test('a refusal says where', () => {
  assert.throws(() => told('<a>\n  <b></c>\n</a>'), {
    message: 'The message cannot be read at line 2, column 6: </c> closes no element that is open.',
  });
  assert.throws(() => told('<?xml version="1.0" encoding="latin1"?><a/>'), {
    message: 'The message cannot be read at line 1, column 1: its declaration must be of XML 1.0, in UTF-8.',
  });
});

test('what has no bound in XML has one here', () => {
  const many = (count: number, text: (i: number) => string) =>
    Array.from({ length: count }, (_, i) => text(i)).join('');
  const sound: [limit: string, xml: (over: number) => string][] = [
    ['depth', (over) => `${'<a>'.repeat(64 + over)}${'</a>'.repeat(64 + over)}`],
    ['attributes', (over) => `<a ${many(16 + over, (i) => ` a${i}="1"`)}/>`],
    [
      'declarations',
      (over) =>
        `<a ${many(16, (i) => ` xmlns:a${i}="u"`)}><b ${many(16, (i) => ` xmlns:b${i}="u"`)}><c${over === 1 ? ' xmlns:c="u"' : ''}/></b></a>`,
    ],
    ['name', (over) => `<${'a'.repeat(256 + over)}/>`],
    ['value', (over) => `<a b="${'a'.repeat(4096 + over)}"/>`],
    ['comments', (over) => `<a>${'<!--1234-->'.repeat(16_384)}${over === 1 ? '<!--1-->' : ''}</a>`],
  ];
  for (const [limit, xml] of sound)
    assert.deepEqual([codeOf(xml(0)).slice(0, 2), codeOf(xml(1))], ['{}', 'MALFORMED_XML'], limit);
  assert.equal(codeOf(`<a>${'<b/>'.repeat(99_999)}</a>`).slice(0, 4), '{}a[');
  assert.equal(codeOf(`<a>${'<b/>'.repeat(100_000)}</a>`), 'REQUEST_TOO_LARGE');
  assert.equal(codeOf(`<a>${'x'.repeat(1_048_577)}</a>`), 'REQUEST_TOO_LARGE');
});

test('a text that comes in pieces is the same text', () => {
  for (const unit of ['&#x1F600;', '😀', '\r\n', ']', ']] >', '&amp;', 'é', '&#65;x'])
    for (let before = 0; before < 9; before++) {
      const text = 'x'.repeat(before) + unit.repeat(20_000);
      const plain = unit
        .replace('&amp;', '&')
        .replace('&#65;', 'A')
        .replace('&#x1F600;', '😀')
        .replace('\r\n', '\n');
      assert.ok(told(`<a>${text}</a>`) === `{}a[${'x'.repeat(before)}${plain.repeat(20_000)}]`, unit);
    }
  assert.equal(codeOf(`<a>${'x'.repeat(16_382)}]]></a>`), 'MALFORMED_XML');
  assert.equal(codeOf(`<a>${'x'.repeat(16_380)}&#1;</a>`), 'MALFORMED_XML');
});

const usedMs = () => process.cpuUsage().user / 1000;

/** What others wait for is the processor time of some steps: how long they take depends on the machine. */
function longestTurnMs(xml: string): number {
  let longest = 0;
  let beganAt = usedMs();
  const turn = () => {
    longest = Math.max(longest, usedMs() - beganAt);
    beganAt = usedMs();
  };
  try {
    const scanner = new XmlScanner(Buffer.from(xml), { start() {}, text() {}, end() {} });
    turn();
    for (let steps = 1; scanner.step(); steps++) if (steps % 16 === 0) turn();
  } catch {
    // Refused in this turn.
  }
  turn();
  return longest;
}

test('ten megabytes of anything keep nobody waiting for long', () => {
  const filled = (unit: string) => unit.repeat(Math.floor((10 * 1024 * 1024) / unit.length));
  const references = '&#65;'.repeat(200_000);
  const table: Record<string, string> = {
    elements: `<a>${filled('<b/>')}`,
    attribute: `<a b="${filled('c')}"/>`,
    'open attribute': `<a b="${filled('c')}`,
    name: `<${filled('a')}/>`,
    spaces: `<a${filled(' ')}`,
    text: `<a>${filled('b')}</a>`,
    references: `<a>${references}</a>`,
    ampersands: `<a>${filled('&')}</a>`,
    lines: `<a>${filled('\r')}</a>`,
    brackets: `<a>${filled(']')}</a>`,
    comment: `<a><!--${filled('b')}--></a>`,
    CDATA: `<a>${filled('<![CDATA[]]>')}</a>`,
    'open CDATA': `<a><![CDATA[${filled(']')}`,
  };
  for (const [name, xml] of Object.entries(table)) {
    const ms = longestTurnMs(xml);
    assert.ok(ms < 250, `${name}: ${ms} ms`);
  }
});

test('what is written is read as it was', () => {
  const any = fc.string({ unit: 'binary', maxLength: 20 });
  fc.assert(
    fc.property(any, any, (text, value) => {
      const writer = new XmlText();
      const xml = `<a b="${writer.attribute(value)}">${writer.text(text)}</a>`;
      // oxlint-disable-next-line no-control-regex -- those that XML 1.0 does not have
      const shown = (each: string) =>
        each.replaceAll(/[^\t\n\r\u0020-\uFFFD\u{10000}-\u{10FFFF}]/gu, '\uFFFD');
      assert.equal(told(xml), `{}a[|b=${shown(value)};${shown(text)}]`);
    }),
  );
});

test('a byte that is lost, doubled or changed is refused, or means another sound document', () => {
  const xml = '<?xml version="1.0"?><s:a xmlns:s="urn:s"><!--c--><b x="1">t&amp;<![CDATA[u]]></b></s:a>';
  for (let i = 0; i < xml.length; i++)
    for (const other of ['', xml[i]! + xml[i]!, '<', '>', '&', '"', '\0', ' ', '!'])
      assert.match(
        codeOf(xml.slice(0, i) + other + xml.slice(i + 1)),
        /^(?:\{|MALFORMED_XML$)/,
        `${i} ${other}`,
      );
});
