// gRPC as others speak it: buf judges the .proto files and calls by reflection, and Python (grpcio, grpcio-tools) makes a client of the
// files and uses it. BUF and GRPC_PYTHON name the programs.

import assert from 'node:assert/strict';
import { spawn, spawnSync } from 'node:child_process';
import { cpSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import {
  type AdminCaller,
  callerOf,
  WITH_PLATFORM_KEY,
} from '../../packages/server/src/testing/admin-caller.ts';
import { startTestApp, type TestApp } from '../../packages/server/src/testing/test-app.ts';

const BUF = process.env['BUF'] ?? 'buf';
const PYTHON = process.env['GRPC_PYTHON'] ?? 'python3';
const PROTO = fileURLToPath(new URL('../../packages/contract/interfaces/proto/', import.meta.url));
const SETTINGS = { ...WITH_PLATFORM_KEY, Grpc__Port: '0', Telemetry__Level: 'Warn' };

interface Ran {
  readonly code: number | null;
  readonly output: string;
}

function run(program: string, args: readonly string[], cwd = PROTO): Promise<Ran> {
  const env = { PATH: process.env['PATH'], HOME: tmpdir() };
  const child = spawn(program, args, { cwd, env, stdio: ['ignore', 'pipe', 'pipe'] });
  let output = '';
  child.stdout.on('data', (chunk) => (output += String(chunk)));
  child.stderr.on('data', (chunk) => (output += String(chunk)));
  return new Promise((resolve) => child.once('close', (code) => resolve({ code, output })));
}

async function passes(program: string, args: readonly string[], cwd?: string): Promise<string> {
  const { code, output } = await run(program, args, cwd);
  assert.equal(code, 0, output);
  return output;
}

describe('buf', { skip: spawnSync(BUF, ['--version']).status === 0 ? false : 'there is no buf' }, () => {
  test('finds nothing in the committed files, and what would break a client', async (t) => {
    await passes(BUF, ['lint']);
    const folder = mkdtempSync(join(tmpdir(), 'tallystick-proto-'));
    t.after(() => rmSync(folder, { recursive: true }));
    cpSync(PROTO, folder, { recursive: true });
    await passes(BUF, ['breaking', '--against', PROTO], folder);
    const types = join(folder, 'tallystick/v1/types.proto');
    writeFileSync(
      types,
      readFileSync(types, 'utf8').replace('optional string event_id = ', 'optional int64 event_id = '),
    );
    const { code, output } = await run(BUF, ['breaking', '--against', PROTO], folder);
    assert.equal(code, 100, output);
    assert.match(output, /event_id.*changed type/);
  });

  test('calls by what reflection shows', async () => {
    await using app = await startTestApp(SETTINGS);
    const { key } = await callerOf(app, 'acme');
    const address = `http://127.0.0.1:${app.grpcPort}`;
    const curl = ['curl', '--http2-prior-knowledge', '--protocol', 'grpc'];
    const services = await passes(BUF, [...curl, '--list-services', address]);
    for (const name of [
      'tallystick.v1.EventsService',
      'tallystick.v2.EventsService',
      'grpc.health.v1.Health',
    ])
      assert.ok(services.split('\n').includes(name), services);
    const headers = ['-H', `x-api-key: ${key}`, '-H', 'x-tenant-id: acme'];
    const call = (method: string, message: object) =>
      run(BUF, [...curl, ...headers, '-d', JSON.stringify(message), `${address}/${method}`]);
    const stored = await call('tallystick.v1.EventsService/Ingest', {
      event: {
        timestamp: '2026-01-02T03:04:05Z',
        actor: { actorType: 'ACTOR_TYPE_USER', userId: 'u-1' },
        action: 'Delete.Invoice',
        resource: { resourceType: 'Invoice', resourceId: 'INV-1' },
        payload: { amount: 1250.5 },
      },
    });
    assert.equal(stored.code, 0, stored.output);
    const { ingestReceipt } = JSON.parse(stored.output) as { ingestReceipt: { eventId: string } };
    const { eventId } = ingestReceipt;
    const shown = await call('tallystick.v1.EventsService/Get', { eventId });
    assert.match(shown.output, /"amount": ?1250\.5/);
    const missing = await call('tallystick.v1.EventsService/Get', { eventId: '01KE0000000000000000000043' });
    assert.match(missing.output, /not_found/);
    const health = await call('grpc.health.v1.Health/Check', {});
    assert.match(health.output, /SERVING/);
  });
});

const CLIENT = `
import json, sys, grpc
from google.protobuf import struct_pb2
sys.path.insert(0, sys.argv[3])
from tallystick.v1 import types_pb2 as types, services_pb2 as messages, services_pb2_grpc as services

address, key = sys.argv[1:3]
metadata = [('x-api-key', key), ('x-tenant-id', 'acme')]
channel = grpc.insecure_channel(address)
events = services.EventsServiceStub(channel)

def draft(action='Delete.Invoice'):
    payload = struct_pb2.Struct()
    payload.update({'amount': 1250.5})
    return types.EventDraft(timestamp='2026-01-02T03:04:05Z', action=action, payload=payload,
        actor=types.Actor(actor_type=types.ACTOR_TYPE_USER, user_id='u-1'),
        resource=types.Resource(resource_type='Invoice', resource_id='INV-1'))

receipt = events.Ingest(messages.EventsServiceIngestRequest(event=draft()), metadata=metadata, timeout=60)
event_id = receipt.ingest_receipt.event_id
shown = events.Get(messages.EventsServiceGetRequest(event_id=event_id), metadata=metadata, timeout=60)
assert 'Delete.Invoice' in str(shown), shown
batches = (messages.EventsServiceIngestStreamRequest(batch=types.BatchRequest(events=[draft(), draft('nonsense')]))
           for _ in range(5))
answers = list(events.IngestStream(batches, metadata=metadata, timeout=60))
assert [answer.index for answer in answers] == [0, 1, 2, 3, 4], answers
assert all(answer.answer == 'Partial' for answer in answers), answers
tail = events.Tail(messages.EventsServiceTailRequest(from_sequence=1), metadata=metadata, timeout=60)
sequences = [next(tail).stream_event.audit_event.sequence for _ in range(5)]
assert sequences == [1, 2, 3, 4, 5], sequences
tail.cancel()
try:
    events.Get(messages.EventsServiceGetRequest(event_id='01KE0000000000000000000043'), metadata=metadata, timeout=60)
    raise AssertionError('no error')
except grpc.RpcError as error:
    assert error.code() == grpc.StatusCode.NOT_FOUND, error
    assert any(key == 'grpc-status-details-bin' for key, _ in error.trailing_metadata())
print('understood')
`;

const hasPython = spawnSync(PYTHON, ['-c', 'import grpc, grpc_tools']).status === 0;

test('Python makes a client of the .proto files and uses it', {
  skip: hasPython ? false : 'grpcio is not on this machine (pip install grpcio grpcio-tools)',
}, async (t) => {
  await using app: TestApp = await startTestApp(SETTINGS);
  const { key }: AdminCaller = await callerOf(app, 'acme');
  const folder = mkdtempSync(join(tmpdir(), 'tallystick-python-'));
  t.after(() => rmSync(folder, { recursive: true }));
  const outputs = [`--python_out=${folder}`, `--grpc_python_out=${folder}`];
  const files = ['types', 'services'].map((name) => `tallystick/v1/${name}.proto`);
  await passes(PYTHON, ['-m', 'grpc_tools.protoc', `-I${PROTO}`, ...outputs, ...files]);
  const output = await passes(PYTHON, ['-c', CLIENT, `127.0.0.1:${app.grpcPort}`, key, folder]);
  assert.match(output, /understood/);
});
