// SOAP as others speak it: zeep (Python) makes a client of our WSDL and uses it, and libxml2, which comes with it, holds what it
// sends and is answered against our XML Schema. ZEEP_PYTHON names the Python that has zeep.

import assert from 'node:assert/strict';
import { spawn, spawnSync } from 'node:child_process';
import { test } from 'node:test';
import { callerOf, WITH_PLATFORM_KEY } from '../../packages/server/src/testing/admin-caller.ts';
import { startTestApp } from '../../packages/server/src/testing/test-app.ts';

const PYTHON = process.env['ZEEP_PYTHON'] ?? 'python3';
const isThere = spawnSync(PYTHON, ['-c', 'import zeep']).status === 0;
const skip = isThere ? false : 'zeep is not on this machine (pip install zeep)';

const CLIENT = `
import json, sys, requests, zeep
from lxml import etree

url, key = sys.argv[1:]
session = requests.Session()
session.headers.update({'X-API-Key': key, 'X-Tenant-Id': 'acme'})
session.trust_env = False
schema = etree.XMLSchema(etree.fromstring(session.get(url + '/soap/v1/tallystick.xsd').content))
count = 0

class Judge(zeep.Plugin):
    def judge(self, envelope):
        global count
        for part in envelope.iter('{urn:tallystick:v1}*'):
            if part.getparent() is not None and etree.QName(part.getparent()).namespace != 'urn:tallystick:v1':
                count += 1
                schema.assertValid(part)
    def egress(self, envelope, http_headers, operation, binding_options):
        self.judge(envelope)
        return envelope, http_headers
    def ingress(self, envelope, http_headers, operation):
        self.judge(envelope)
        return envelope, http_headers

for port in ['TallystickSoap11', 'TallystickSoap12']:
    client = zeep.Client(url + '/soap/v1?wsdl', transport=zeep.Transport(session=session), plugins=[Judge()],
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
nothing = etree.fromstring('<t:EventsGet xmlns:t="urn:tallystick:v1"><t:nothing/></t:EventsGet>')
assert not schema.validate(nothing), 'the schema refuses nothing'
print('%d parts of messages are valid' % count)
`;

test('zeep makes a client of the WSDL in strict mode, and uses both ports', { skip }, async () => {
  await using app = await startTestApp({ ...WITH_PLATFORM_KEY, Telemetry__Level: 'Warn' });
  const { key } = await callerOf(app, 'acme');
  const child = spawn(PYTHON, ['-c', CLIENT, app.url, key], { stdio: ['ignore', 'pipe', 'pipe'] });
  let said = '';
  for (const stream of [child.stdout, child.stderr])
    stream.on('data', (chunk: Buffer) => (said += chunk.toString()));
  const code = await new Promise((resolve) => child.on('close', resolve));
  assert.equal(code, 0, said);
  const [, count] = /^(\d+) parts of messages are valid\n$/.exec(said) ?? [];
  assert.ok(Number(count) > 50, said);
});
