// How the elements of a message become JSON, by the forms of the contract.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { AuditError } from '@tallystick/contract';
import { SOAP_NAMESPACE, soapOperations } from '@tallystick/contract/soap';
import { systemClock } from '../../runtime/clock.ts';
import { readMessage, type SoapMessage } from './envelope.ts';
import { ENVELOPE_NAMESPACES, type SoapVersion } from './soap-fault.ts';

const OPERATIONS = new Map(soapOperations().map((each) => [each.name, each]));
const XSI = 'xmlns:xsi="http://www.w3.org/2001/XMLSchema-instance"';

const enveloped = (body: string, header = '', version: SoapVersion = '1.1') =>
  `<s:Envelope xmlns:s="${ENVELOPE_NAMESPACES[version]}" xmlns="${SOAP_NAMESPACE}" ${XSI}>${header}<s:Body>${body}</s:Body></s:Envelope>`;
const read = (xml: string, version: SoapVersion = '1.1'): Promise<SoapMessage> =>
  readMessage(Buffer.from(xml), version, OPERATIONS, systemClock);

async function told(body: string): Promise<unknown> {
  try {
    const message = await read(enveloped(body));
    return { ...message.members, ...(message.body && { body: message.body.toString() }) };
  } catch (error) {
    return error instanceof AuditError ? `${error.code}: ${error.message}` : error;
  }
}

test('text becomes what the schema asks for where it can, and stays text where it cannot', async () => {
  const limits: [text: string, value: unknown][] = [
    ['5', 5],
    [' +005\n', 5],
    ['-0', 0],
    ['5.0', '5.0'],
    ['', ''],
    ['five', 'five'],
    ['1e3', '1e3'],
    ['9'.repeat(400), '9'.repeat(400)],
  ];
  for (const [text, value] of limits)
    assert.deepEqual(await told(`<EventsList><limit>${text}</limit></EventsList>`), { limit: value }, text);
  for (const [text, value] of [
    ['true', true],
    ['1', true],
    [' 0 ', false],
    ['TRUE', 'TRUE'],
  ] as const)
    assert.deepEqual(await told(`<PoliciesList><active>${text}</active></PoliciesList>`), { active: value });
  assert.deepEqual(await told('<EventsList><q> a&amp;<![CDATA[<b>]]><!-- --> </q></EventsList>'), {
    q: ' a&<b> ',
  });
});

test('lists, maps, objects and JSON are themselves, in any order', async () => {
  const headers = '<headers><entry key="X-A">1</entry><entry key="&quot;">2</entry></headers>';
  const conditions = '<conditions> {"payload.amount":{"gt":1000.50}} </conditions>';
  const table: [sent: string, body: string][] = [
    [
      `<subscription>${headers}<eventTypes/><active>1</active></subscription>`,
      '{"headers":{"X-A":"1","\\"":"2"},"eventTypes":[],"active":true}',
    ],
    [
      '<subscription><eventTypes><item>a</item><item/></eventTypes><headers/></subscription>',
      '{"eventTypes":["a",""],"headers":{}}',
    ],
    ['<subscription><unknown x="1"><deep>a</deep></unknown><url>u</url></subscription>', 'MALFORMED_XML'],
    [
      '<subscription><unknown><deep xmlns="urn:x" x="1">a</deep></unknown><url>u</url></subscription>',
      '{"unknown":{},"url":"u"}',
    ],
    [
      '<subscription><filters>{"a": [1]}</filters><name xsi:nil="true"/></subscription>',
      '{"filters":{"a": [1]},"name":null}',
    ],
    ['<subscription/>', '{}'],
    ['<subscription xsi:nil="1"/>', 'undefined'],
  ];
  for (const [sent, body] of table) {
    const answer = await told(`<SubscriptionsCreate>${sent}</SubscriptionsCreate>`);
    const shown = typeof answer === 'string' ? answer.split(':')[0] : (answer as { body?: string }).body;
    assert.equal(String(shown), body, sent);
  }
  const policy = `<policy><version>7</version><rules><item>${conditions}</item></rules><createdAt/></policy>`;
  assert.deepEqual(await told(`<PoliciesReplace>${policy}<policyId>p</policyId></PoliciesReplace>`), {
    policyId: 'p',
    body: '{"rules":[{"conditions":{"payload.amount":{"gt":1000.50}}}]}',
  });
});

test('what has no meaning is refused, and what is said with it', async () => {
  const inEvent = (event: string) => `<EventsIngest><event>${event}</event></EventsIngest>`;
  const table: [body: string, expected: RegExp][] = [
    [inEvent('text'), /^MALFORMED_XML: .*there is text in <event>, which holds elements/],
    [inEvent('<actor>text</actor>'), /^MALFORMED_XML: .*text in <actor>/],
    [inEvent('<action><b/></action>'), /^MALFORMED_XML: .*<b> stands in <action>, which holds text alone/],
    [
      inEvent('<action xmlns="">a</action>'),
      /^MALFORMED_XML: .*<action> is in the namespace '', not in urn:tallystick:v1/,
    ],
    [inEvent('<action xsi:type="x">a</action>'), /^MALFORMED_XML: .*has the attribute type/],
    [inEvent('<action xsi:nil="true">a</action>'), /^MALFORMED_XML: .*<action>, which holds nothing/],
    [inEvent('<actor xsi:nil="true"><userId/></actor>'), /^MALFORMED_XML: .*xsi:nil, and something inside/],
    [inEvent('<action xsi:nil="yes"/>'), /^MALFORMED_XML: .*must be true or false/],
    [
      inEvent('<payload>{"a":1},"classification":"Secret"</payload>'),
      /^MALFORMED_JSON: The message cannot be read at line 1, column \d+: <payload> must hold one value/,
    ],
    [inEvent('<payload>a</payload>'), /^MALFORMED_JSON: /],
    ['<EventsList><actorId><b/></actorId></EventsList>', /^MALFORMED_XML: .*holds <item> alone/],
    ['<EventsList><limit>1</limit><limit>2</limit></EventsList>', /^VALIDATION_FAILED: limit is sent twice/],
    ['<EventsList/><EventsList/>', /^MALFORMED_XML: .*second element/],
    ['<EventsList x="1"/>', /^MALFORMED_XML: .*attribute/],
    ['', /^MALFORMED_XML: .*no operation/],
    ['text', /^MALFORMED_XML: .*text in the Body/],
    ['<EventsLost/>', /^ROUTE_NOT_FOUND: There is no operation <EventsLost>/],
    ['<EventsList xmlns="urn:other"/>', /^ROUTE_NOT_FOUND: .*'urn:other'/],
  ];
  for (const [body, expected] of table) assert.match(String(await told(body)), expected, body);
});

test('the header is read for our block, and for what must be understood', async () => {
  const body = '<EventsList/>';
  const key =
    '<s:Header><Call idempotencyKey="k-1"><x/></Call><o:p xmlns:o="urn:o"><EventsList/></o:p></s:Header>';
  assert.equal((await read(enveloped(body, key))).idempotencyKey, 'k-1');
  const twice = key.replace('</Call>', '</Call><Call/>');
  await assert.rejects(read(enveloped(body, twice)), { code: 'MALFORMED_XML', message: /second <Call>/ });
  const block = (attributes: string, name = 'o:a') =>
    `<s:Header><${name} xmlns:o="urn:o" xmlns:w="http://docs.oasis-open.org/wss/2004/01/oasis-200401-wss-wssecurity-secext-1.0.xsd" ${attributes}/></s:Header>`;
  const refused = (header: string, version: SoapVersion, message: RegExp) =>
    assert.rejects(read(enveloped(body, header, version), version), { kind: 'MustUnderstand', message });
  await refused(block('s:mustUnderstand="1"'), '1.1', /does not understand the header a\.$/);
  await refused(block('s:mustUnderstand="true"'), '1.2', /the header a/);
  await refused(block('s:mustUnderstand="1"', 'w:Security'), '1.1', /send Authorization or X-API-Key/);
  const next = `s:actor="http://schemas.xmlsoap.org/soap/actor/next"`;
  await refused(block(`${next} s:mustUnderstand="1"`), '1.1', /the header a/);
  for (const attributes of [
    '',
    's:mustUnderstand="0"',
    'mustUnderstand="1"',
    's:actor="urn:x" s:mustUnderstand="1"',
  ])
    assert.ok(await read(enveloped(body, block(attributes))), attributes);
});

test('an envelope is of the version that the media type says, and in order', async () => {
  const good = enveloped('<EventsList/>');
  await assert.rejects(read(good, '1.2'), { kind: 'VersionMismatch' });
  const malformed: string[] = [
    good.replaceAll('Envelope', 'Envelop'),
    good.replace('<s:Body>', '<s:Body/><s:Body>'),
    good.replace('</s:Body>', '</s:Body><s:Header/>'),
    good.replace('<s:Body>', '<s:Header/><s:Header/><s:Body>'),
    good.replace('<s:Body>', 'text<s:Body>'),
    good.replaceAll('s:Body', 'Body'),
  ];
  for (const xml of malformed) await assert.rejects(read(xml), { code: 'MALFORMED_XML' }, xml);
});
