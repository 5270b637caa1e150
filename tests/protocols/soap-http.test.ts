// SOAP as HTTP has it: media types, actions, faults of both versions, what is asked before a body is read, and bodies that are
// made to keep the service busy.

import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { gzipSync } from 'node:zlib';
import { soapOperations } from '@tallystick/contract/soap';
import { callerOf, WITH_PLATFORM_KEY } from '../../packages/server/src/testing/admin-caller.ts';
import { EVENT } from '../../packages/server/src/testing/bound-operations.ts';
import { exchangeRaw } from '../../packages/server/src/testing/raw-http.ts';
import { startTestApp, type TestApp } from '../../packages/server/src/testing/test-app.ts';
import { messageHeaders, requestXml, soapSpeaker } from './speakers/soap.ts';
import { attributeOf, childOf, parseXml } from './speakers/xml-value.ts';

const PUBLIC_URL = 'https://audit.example.com';
const OPERATIONS = new Map(soapOperations().map((each) => [each.name, each]));
const [INGEST, BATCH, LIST] = ['EventsIngest', 'EventsIngestBatch', 'EventsList'].map(
  (name) => OPERATIONS.get(name)!,
);
const MB = 1024 * 1024;

let app: TestApp;
let allowed: Record<string, string>;
let viewer: Record<string, string>;
before(async () => {
  app = await startTestApp({ ...WITH_PLATFORM_KEY, Server__PublicUrl: PUBLIC_URL, Telemetry__Level: 'Warn' });
  allowed = { 'X-API-Key': (await callerOf(app, 'acme')).key, 'X-Tenant-Id': 'acme' };
  viewer = { ...allowed, 'X-API-Key': (await callerOf(app, 'acme', ['Viewer'])).key };
});
after(() => app[Symbol.asyncDispose]());

interface Sent {
  readonly version?: '1.1' | '1.2';
  readonly action?: string;
  readonly headers?: Record<string, string>;
}

async function post(body: string | Buffer, { version = '1.1', action = '', headers = {} }: Sent = {}) {
  const response = await fetch(`${app.url}/soap/v1`, {
    method: 'POST',
    headers: { ...allowed, ...messageHeaders(version, action), ...headers },
    body: body as string,
  });
  const text = await response.text();
  const code = /<t:code>(\w+)</.exec(text)?.[1] ?? /kind="(\w+)"/.exec(text)?.[1];
  return { status: response.status, headers: response.headers, text, code };
}

const ingest = (version: '1.1' | '1.2' = '1.1', event: object = EVENT) =>
  requestXml(version, INGEST!, { event });

test('both versions are spoken, with the action and without, and with what the action says of the body', async () => {
  for (const version of ['1.1', '1.2'] as const) {
    for (const action of [INGEST!.action, '']) {
      const { status, code, headers } = await post(ingest(version), { version, action });
      assert.deepEqual([status, code], [200, 'Created'], `${version} ${action}`);
      assert.match(
        headers.get('Content-Type')!,
        version === '1.1' ? /^text\/xml/ : /^application\/soap\+xml/,
      );
    }
    const other = await post(ingest(version), { version, action: LIST!.action });
    assert.equal(other.code, 'MALFORMED_XML');
    assert.match(other.text, /asks for EventsIngest, the action for EventsList/);
    assert.equal((await post(ingest(version), { version, action: 'urn:none' })).code, 'ROUTE_NOT_FOUND');
  }
  assert.equal(
    (await post(ingest('1.1'), { version: '1.2' })).text.match(/<s:Value>s:(\w+)/)?.[1],
    'VersionMismatch',
  );
});

test('a fault says in SOAP 1.1 and 1.2 what REST says', async () => {
  const trace = { traceparent: '00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01' };
  const shown = (text: string) =>
    text.replaceAll(/\d{4}-\d\d-\d\dT[\d:.]+Z|[0-9A-Z]{26}/g, '…').split('\n')[1];
  const refused = ingest('1.1', { ...EVENT, action: 'x<y' });
  const detail =
    '<t:Fault><t:code>VALIDATION_FAILED</t:code><t:message>action must be letters (A to Z, a to z), a dot, letters, like Delete.Invoice.</t:message><t:details><t:item><t:field>action</t:field><t:issue>must be letters (A to Z, a to z), a dot, letters, like Delete.Invoice</t:issue><t:value>"x&lt;y"</t:value></t:item></t:details><t:traceId>4bf92f3577b34da6a3ce929d0e0e4736</t:traceId><t:timestamp>…</t:timestamp><t:path>/soap/v1</t:path><t:requestId>…</t:requestId></t:Fault>';
  const one = await post(refused, { headers: trace });
  assert.equal(one.status, 500);
  assert.equal(
    shown(one.text),
    `<s:Envelope xmlns:s="http://schemas.xmlsoap.org/soap/envelope/" xmlns:t="urn:tallystick:v1" xmlns:xsi="http://www.w3.org/2001/XMLSchema-instance"><s:Body><s:Fault><faultcode>s:Client</faultcode><faultstring xml:lang="en">action must be letters (A to Z, a to z), a dot, letters, like Delete.Invoice.</faultstring><detail>${detail}</detail></s:Fault></s:Body></s:Envelope>`,
  );
  const two = await post(ingest('1.2', { ...EVENT, action: 'x<y' }), { version: '1.2', headers: trace });
  assert.equal(two.status, 400);
  assert.equal(
    shown(two.text),
    `<s:Envelope xmlns:s="http://www.w3.org/2003/05/soap-envelope" xmlns:t="urn:tallystick:v1" xmlns:xsi="http://www.w3.org/2001/XMLSchema-instance"><s:Body><s:Fault><s:Code><s:Value>s:Sender</s:Value><s:Subcode><s:Value>t:VALIDATION_FAILED</s:Value></s:Subcode></s:Code><s:Reason><s:Text xml:lang="en">action must be letters (A to Z, a to z), a dot, letters, like Delete.Invoice.</s:Text></s:Reason><s:Detail>${detail}</s:Detail></s:Fault></s:Body></s:Envelope>`,
  );
  const stranger = await post(ingest(), { headers: { 'X-API-Key': 'nobody' } });
  assert.deepEqual([stranger.status, stranger.headers.get('WWW-Authenticate')], [401, 'Bearer']);
  const secured = ingest('1.2').replace(
    '<s:Body>',
    '<s:Header><o:x xmlns:o="urn:o" s:mustUnderstand="true"/></s:Header><s:Body>',
  );
  const { text } = await post(secured, { version: '1.2' });
  assert.match(
    text,
    /<s:Header><s:NotUnderstood qname="n:x" xmlns:n="urn:o"\/><\/s:Header>.*<s:Value>s:MustUnderstand</,
  );
});

test('media types, codings and methods that are none are refused as faults', async () => {
  const types: [type: string, status: number][] = [
    ['text/xml', 200],
    ['TEXT/XML; charset="UTF-8"', 200],
    ['text/xml; charset=utf-16', 415],
    ['application/json', 415],
    ['multipart/related; type="application/xop+xml"', 415],
    ['application/soap+xml; charset=latin1', 415],
  ];
  for (const [type, status] of types) {
    const answer = await post(ingest(), { headers: { 'Content-Type': type } });
    assert.equal(answer.status, status, type);
    if (status === 415) assert.equal(answer.code, 'UNSUPPORTED_MEDIA_TYPE');
  }
  const packed = await post(gzipSync(ingest()), { headers: { 'Content-Encoding': 'gzip' } });
  assert.equal(packed.code, 'Created');
  assert.equal((await post(ingest(), { headers: { 'Content-Encoding': 'gzip' } })).code, 'MALFORMED_XML');
  assert.equal((await post('')).code, 'MALFORMED_XML');
  for (const [method, path] of [
    ['PUT', '/soap/v1'],
    ['POST', '/soap/v1/x'],
    ['GET', '/soap/v1/x'],
  ] as const) {
    const { status } = await fetch(app.url + path, { method, headers: allowed });
    assert.equal(status, 404, `${method} ${path}`);
  }
});

test('the description is served to everybody, with the address by which the service is known', async () => {
  for (const path of ['?wsdl', '?WSDL', '/tallystick.wsdl']) {
    const response = await fetch(`${app.url}/soap/v1${path}`, { headers: { Host: 'evil.example' } });
    const text = await response.text();
    assert.equal(response.status, 200, path);
    assert.ok(text.includes(`location="${PUBLIC_URL}/soap/v1"`), path);
    assert.ok(text.includes(`schemaLocation="${PUBLIC_URL}/soap/v1/tallystick.xsd"`), path);
    const again = await fetch(`${app.url}/soap/v1${path}`, {
      headers: { 'If-None-Match': response.headers.get('ETag')! },
    });
    assert.equal(again.status, 304);
  }
  const xsd = await fetch(`${app.url}/soap/v1/tallystick.xsd`);
  assert.match(await xsd.text(), /<xs:complexType name="EventDraft">/);
});

test('a stranger is refused before a body is sent, and who may not ask before it is read, by the action', async () => {
  const head = (headers: Record<string, string>, action: string) =>
    `POST /soap/v1 HTTP/1.1\r\nHost: a\r\nContent-Type: text/xml\r\nSOAPAction: "${action}"\r\nContent-Length: ${10 * MB}\r\n${Object.entries(
      headers,
    )
      .map(([name, value]) => `${name}: ${value}\r\n`)
      .join('')}\r\n`;
  const statusOf = async (...asked: Parameters<typeof head>) =>
    (await exchangeRaw(app.port, head(...asked)))[0]!;
  assert.equal((await statusOf({}, '')).status, 401);
  assert.equal((await statusOf({}, BATCH!.action)).status, 401);
  assert.match((await statusOf(viewer, BATCH!.action)).body, /FORBIDDEN/);
  assert.match((await statusOf(allowed, '')).body, /REQUEST_TOO_LARGE/);
  assert.match((await statusOf(allowed, INGEST!.action)).body, /REQUEST_TOO_LARGE/);
});

test('an idempotency key may stand in the message, and an answer says what is beside its body', async () => {
  const keyed = (key: string) =>
    ingest().replace('<s:Body>', `<s:Header><t:Call idempotencyKey="${key}"/></s:Header><s:Body>`);
  const headers = { 'X-Correlation-Id': 'c-1' };
  const [first, again] = [await post(keyed('soap-1'), { headers }), await post(keyed('soap-1'), { headers })];
  assert.deepEqual([first.code, again.code], ['Created', 'Repeated']);
  assert.equal((await post(keyed('soap-2'), { headers: { 'Idempotency-Key': 'soap-2' } })).code, 'Created');
  assert.equal((await post(keyed('soap-3'), { headers: { 'Idempotency-Key': 'x' } })).code, 'INVALID_HEADER');
  const answer = childOf(childOf(parseXml(first.text), 'Header'), 'Answer');
  assert.deepEqual(
    ['kind', 'etag', 'correlationId', 'replaced'].map((name) => attributeOf(answer, name)),
    ['Created', undefined, 'c-1', '0'],
  );
  const speaker = soapSpeaker(app);
  const by = { key: allowed['X-API-Key']!, tenant: 'acme' };
  const policy = { name: 'tagged', policyType: 'Retention', description: 'a bell \u0007' };
  const { body } = await soapSpeaker(app).ask('policies.list', {}, by);
  assert.ok(body);
  const made = await fetch(`${app.url}/api/v1/policies`, {
    method: 'POST',
    headers: { ...allowed, 'Content-Type': 'application/json' },
    body: JSON.stringify(policy),
  });
  const { policyId } = (await made.json()) as { policyId: string };
  const xml = requestXml('1.1', OPERATIONS.get('PoliciesGet')!, { policyId });
  const told = childOf(childOf(parseXml((await post(xml)).text), 'Header'), 'Answer');
  assert.deepEqual([attributeOf(told, 'etag'), attributeOf(told, 'replaced')], ['"1"', '1']);
  const shown = await speaker.ask('policies.get', { policyId }, by);
  assert.equal((shown.body as { description: string }).description, 'a bell \uFFFD');
});

const between = (inside: string) => ingest().replace(/<s:Body>.*<\/s:Body>/, `<s:Body>${inside}</s:Body>`);
const inBatch = (inside: string) => between(`<t:EventsIngestBatch>${inside}</t:EventsIngestBatch>`);
const events = (inside: string) => inBatch(`<t:batch><t:events>${inside}</t:events></t:batch>`);
const BYTES = 3 * MB;
const filled = (unit: string) => unit.repeat(Math.floor(BYTES / Buffer.byteLength(unit)));

/** What each is refused with; the action says that so much may come. */
const HOSTILE: readonly [name: string, xml: () => string, code: RegExp][] = [
  [
    'a billion laughs',
    () => `<!DOCTYPE l [<!ENTITY a "ha"><!ENTITY b "${'&a;'.repeat(1000)}">]>${ingest()}`,
    /^MALFORMED_XML$/,
  ],
  [
    'a file',
    () => `<!DOCTYPE l [<!ENTITY a SYSTEM "file:///etc/passwd">]>${ingest().replace('INV-42', '&a;')}`,
    /^MALFORMED_XML$/,
  ],
  ['elements that never close', () => events(filled('<t:item>')), /^MALFORMED_XML$/],
  ['empty elements', () => between(filled('<a/>')), /^(?:ROUTE_NOT_FOUND|MALFORMED_XML)$/],
  ['events that are empty', () => events(filled('<t:item/>')), /^REQUEST_TOO_LARGE$/],
  ['1,001 events', () => events('<t:item/>'.repeat(1001)), /^BATCH_SIZE_INVALID$/],
  ['unknown elements', () => inBatch(`<t:batch>${filled('<t:x>a</t:x>')}</t:batch>`), /^REQUEST_TOO_LARGE$/],
  ['attributes', () => inBatch(`<t:batch ${filled(' a="1"')}/>`), /^MALFORMED_XML$/],
  ['one attribute', () => inBatch(`<t:batch a="${filled('a')}"/>`), /^MALFORMED_XML$/],
  ['an attribute that never closes', () => inBatch(`<t:batch a="${filled('a')}`), /^MALFORMED_XML$/],
  ['a name', () => inBatch(`<t:${filled('a')}/>`), /^MALFORMED_XML$/],
  ['spaces in a tag', () => inBatch(`<t:batch${filled(' ')}`), /^MALFORMED_XML$/],
  [
    'namespaces',
    () => inBatch(`<t:batch ${Array.from({ length: 500_000 }, (_, i) => `xmlns:a${i}="u"`).join(' ')}/>`),
    /^MALFORMED_XML$/,
  ],
  ['references', () => inBatch(`<t:batch>${filled('&#65;')}</t:batch>`), /^MALFORMED_XML$/],
  ['ampersands', () => inBatch(`<t:batch>${filled('&')}</t:batch>`), /^MALFORMED_XML$/],
  ['carriage returns', () => inBatch(filled('\r')), /^REQUEST_TOO_LARGE$/],
  ['one comment', () => inBatch(`<!--${filled('a')}-->`), /^MALFORMED_XML$/],
  ['comments', () => inBatch(filled('<!---->')), /^(?:VALIDATION_FAILED|MALFORMED_XML)$/],
  ['brackets', () => inBatch(filled(']]>')), /^MALFORMED_XML$/],
  ['CDATA', () => inBatch(filled('<![CDATA[]]>')), /^VALIDATION_FAILED$/],
  ['CDATA that never closes', () => inBatch(`<![CDATA[${filled(']]')}`), /^MALFORMED_XML$/],
  [
    'a header of blocks',
    () => ingest().replace('<s:Body>', `<s:Header>${filled('<a b="1"/>')}</s:Header><s:Body>`),
    /^REQUEST_TOO_LARGE$/,
  ],
  [
    'JSON that nests',
    () => events(`<t:item><t:payload>${'['.repeat(MB - 100)}</t:payload></t:item>`),
    /^MALFORMED_JSON$/,
  ],
  [
    'JSON that is large',
    () => events(`<t:item><t:payload>{"a":"${'x'.repeat(MB - 100)}"}</t:payload></t:item>`),
    /^VALIDATION_FAILED$/,
  ],
];

test('what is made to keep the service busy is refused', async () => {
  const wrong: string[] = [];
  for (const [name, xml, code] of HOSTILE) {
    const packed = gzipSync(xml(), { level: 1 });
    const answer = await post(packed, { action: BATCH!.action, headers: { 'Content-Encoding': 'gzip' } });
    if (!code.test(answer.code ?? answer.text)) wrong.push(`${name}: ${answer.code ?? answer.text}`);
  }
  assert.deepEqual(wrong, []);
  assert.equal((await post(ingest())).code, 'Created');
});

test('a batch of a thousand events with large payloads is stored', async () => {
  const payload = { text: '<&>é'.repeat(500) };
  const batch = { events: Array.from({ length: 1000 }, () => ({ ...EVENT, payload })) };
  const { code, text } = await post(requestXml('1.1', BATCH!, { batch }), { action: BATCH!.action });
  assert.equal(code, 'Created', text.slice(0, 1000));
  assert.match(text, /<t:successCount>1000</);
});
