// SOAP as others speak it: zeep (Python) makes a client of our WSDL and uses it, and xmllint holds what it sends and is
// answered against our XML Schema. ZEEP_PYTHON names the Python that has zeep.

import assert from 'node:assert/strict';
import { spawn, spawnSync } from 'node:child_process';
import { mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { soapXsd } from '@tallystick/contract/soap';
import { callerOf, WITH_PLATFORM_KEY } from '../../packages/server/src/testing/admin-caller.ts';
import { startTestApp } from '../../packages/server/src/testing/test-app.ts';

const PYTHON = process.env['ZEEP_PYTHON'] ?? 'python3';
const isThere = spawnSync(PYTHON, ['-c', 'import zeep']).status === 0;
const skip = isThere ? false : 'zeep is not on this machine (pip install zeep)';
const hasXmllint = spawnSync('xmllint', ['--version']).error === undefined;

const CLIENT = `
import json, sys, requests, zeep
from lxml import etree
from zeep.plugins import HistoryPlugin

url, key, folder = sys.argv[1:]
session = requests.Session()
session.headers.update({'X-API-Key': key, 'X-Tenant-Id': 'acme'})
session.trust_env = False
count = 0

class Keep(zeep.Plugin):
    def keep(self, envelope):
        global count
        for part in envelope.iter('{urn:tallystick:v1}*'):
            if part.getparent() is not None and etree.QName(part.getparent()).namespace != 'urn:tallystick:v1':
                count += 1
                etree.ElementTree(part).write(f'{folder}/{count}.xml')
    def egress(self, envelope, http_headers, operation, binding_options):
        self.keep(envelope)
        return envelope, http_headers
    def ingress(self, envelope, http_headers, operation):
        self.keep(envelope)
        return envelope, http_headers

for port in ['TallystickSoap11', 'TallystickSoap12']:
    client = zeep.Client(url + '/soap/v1?wsdl', transport=zeep.Transport(session=session), plugins=[Keep()],
                         settings=zeep.Settings(strict=True, xml_huge_tree=False), port_name=port)
    ask = client.service
    event = {'timestamp': '2026-01-02T03:04:05.123456789Z', 'actor': {'actorType': 'User', 'userId': 'u-1'},
             'action': 'Delete.Invoice', 'resource': {'resourceType': 'Invoice', 'resourceId': port},
             'payload': json.dumps({'amount': 1250.5, 'text': '<&>'})}
    receipt = ask.EventsIngest(event=event)
    assert receipt.status == 'Accepted' and receipt.idempotent is False, receipt
    batch = ask.EventsIngestBatch(batch={'events': {'item': [event, {**event, 'action': 'nonsense'}]}})
    assert batch.status == 'PartialSuccess' and batch.results.item[1].error.code == 'VALIDATION_FAILED', batch
    shown = ask.EventsGet(eventId=receipt.eventId)
    assert shown.auditEvent.timestamp == event['timestamp'], shown
    assert json.loads(shown.auditEvent.payload) == json.loads(event['payload'])
    while True:
        page = ask.EventsList(resourceId={'item': [port]}, limit=1)
        if page.pagination.total == 2: break
    assert len(page.data.item) == 1 and page.pagination.cursor, page
    last = ask.EventsList(resourceId={'item': [port]}, limit=1, cursor=page.pagination.cursor)
    assert last.pagination.cursor is None and last.pagination.hasMore is False, last
    found = ask.EventsSearch(search={'query': 'resource:' + port, 'aggregations': {'item': ['byAction']}})
    assert found.aggregations.byAction.item[0].key == 'Delete.Invoice', found
    stream = ask.StreamsList().data.item[0]
    assert stream.status == 'Open', stream
    assert ask.StreamsListEvents(streamId=stream.streamId, limit=2).data.item[0].auditEvent.action
    proof = ask.EventsProve(eventId=receipt.eventId)
    assert proof.open.item[0].item[0].startswith('/'), proof
    made = ask.SubscriptionsCreate(subscription={'name': port, 'url': 'https://siem.example.com/', 'eventTypes': {'item': ['AuditEventReceived']},
                                                 'headers': {'entry': [{'_value_1': 'a', 'key': 'X-Team'}]}})
    assert made.headers.entry[0]['_value_1'] == 'a' and made.headers.entry[0]['key'] == 'X-Team', made
    export = ask.ExportsCreate(export={'format': 'CSV'})
    assert ask.ExportsGet(exportId=export.exportId).exportId == export.exportId
    ask.ExportsDelete(exportId=export.exportId)
    try:
        ask.EventsIngest(event={**event, 'action': 'nonsense'})
        raise SystemExit('it was stored')
    except zeep.exceptions.Fault as fault:
        code = fault.detail.find('.//{urn:tallystick:v1}code').text
        assert code == 'VALIDATION_FAILED', code
print('done')
`;

test('zeep makes a client of the WSDL in strict mode, and uses both ports', { skip }, async (t) => {
  const folder = mkdtempSync(join(tmpdir(), 'tallystick-zeep-'));
  t.after(() => rmSync(folder, { recursive: true, force: true }));
  await using app = await startTestApp({ ...WITH_PLATFORM_KEY, Telemetry__Level: 'Warn' });
  const { key } = await callerOf(app, 'acme');
  const child = spawn(PYTHON, ['-c', CLIENT, app.url, key, folder], { stdio: ['ignore', 'pipe', 'pipe'] });
  let said = '';
  for (const stream of [child.stdout, child.stderr])
    stream.on('data', (chunk: Buffer) => (said += chunk.toString()));
  const code = await new Promise((resolve) => child.on('close', resolve));
  assert.equal(code, 0, said);
  assert.equal(said.trim(), 'done');
  if (!hasXmllint) return t.diagnostic('there is no xmllint on this machine');
  const messages = readdirSync(folder).map((name) => join(folder, name));
  assert.ok(messages.length > 50, `${messages.length} messages`);
  const schema = join(folder, 'tallystick.xsd');
  writeFileSync(schema, soapXsd());
  const run = spawnSync('xmllint', ['--nonet', '--noout', '--schema', schema, ...messages], {
    encoding: 'utf8',
  });
  assert.equal(
    run.status,
    0,
    run.stderr
      .split('\n')
      .filter((line) => !line.endsWith(' validates'))
      .slice(0, 20)
      .join('\n'),
  );
});
