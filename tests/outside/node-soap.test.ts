// node-soap makes a client of the WSDL of a real service, and uses both ports. To install it:
// npm ci --prefix tests/outside/clients

import assert from 'node:assert/strict';
import { existsSync } from 'node:fs';
import { createRequire } from 'node:module';
import { join } from 'node:path';
import { test } from 'node:test';
import { callerOf, WITH_PLATFORM_KEY } from '../../packages/server/src/testing/admin-caller.ts';
import { EVENT } from '../../packages/server/src/testing/bound-operations.ts';
import { startTestApp } from '../../packages/server/src/testing/test-app.ts';
import { until } from '../../packages/server/src/testing/until.ts';

const CLIENTS = join(import.meta.dirname, 'clients');
const isThere = existsSync(join(CLIENTS, 'node_modules/soap'));
const skip = isThere ? false : 'node-soap is not installed (npm ci --prefix tests/outside/clients)';

/** What we use of it. Answers are what each operation answers. */
interface NodeSoap {
  createClientAsync(wsdl: string, options: { forceSoap12Headers: boolean }): Promise<Client>;
}
interface Client {
  readonly Tallystick: Readonly<Record<string, Readonly<Record<string, Method>>>>;
  addHttpHeader(name: string, value: string): void;
  addSoapHeader(xml: string): void;
  clearSoapHeaders(): void;
}
// oxlint-disable-next-line typescript/no-explicit-any -- it knows no types of its answers
type Told = any;
type Method = (input: object, done: (error: Refusal | null, told: Told) => void) => void;
interface Refusal extends Error {
  readonly root: { readonly Envelope: { readonly Body: { readonly Fault: Told } } };
  readonly response: { readonly status: number };
}

const PORTS = [
  { port: 'TallystickSoap11', isNewer: false, statusOfFault: 500 },
  { port: 'TallystickSoap12', isNewer: true, statusOfFault: 400 },
];

for (const { port, isNewer, statusOfFault } of PORTS) {
  test(`node-soap uses ${port}, and gets our codes in faults`, { skip }, async () => {
    const soap = createRequire(join(CLIENTS, 'package.json'))('soap') as NodeSoap;
    await using app = await startTestApp({ ...WITH_PLATFORM_KEY, Telemetry__Level: 'Warn' });
    const { key } = await callerOf(app, 'acme');
    const client = await soap.createClientAsync(`${app.url}/soap/v1?wsdl`, { forceSoap12Headers: isNewer });
    client.addHttpHeader('X-API-Key', key);
    client.addHttpHeader('X-Tenant-Id', 'acme');
    const ask = (operation: string, input: object = {}) =>
      new Promise<Told>((resolve, reject) => {
        client.Tallystick[port]![operation]!(input, (error, told) => {
          if (error === null) resolve(told);
          // oxlint-disable-next-line typescript/prefer-promise-reject-errors -- as node-soap makes it
          else reject(error);
        });
      });
    const refused = async (operation: string, input: object) => {
      const refusal = await ask(operation, input).then(
        () => assert.fail(`${operation} was not refused`),
        (error: Refusal) => error,
      );
      const { Fault } = refusal.root.Envelope.Body;
      const { code } = (Fault.detail ?? Fault.Detail).Fault;
      return [refusal.response.status, code, Fault.faultcode ?? Fault.Code.Value, Fault.Code?.Subcode.Value];
    };
    const sender = (code: string) =>
      isNewer ? [statusOfFault, code, 's:Sender', `t:${code}`] : [statusOfFault, code, 's:Client', undefined];

    const payload = JSON.stringify({ amount: 1250.5, text: '<&>]]>' });
    const event = { ...EVENT, timestamp: '2026-01-02T03:04:05.123456789Z', payload };
    client.addSoapHeader('<t:Call xmlns:t="urn:tallystick:v1" idempotencyKey="one"/>');
    const { ingestReceipt } = await ask('EventsIngest', { event });
    const repeated = (await ask('EventsIngest', { event })).ingestReceipt;
    assert.deepEqual(
      [ingestReceipt.idempotent, repeated.idempotent, repeated.eventId],
      [false, true, ingestReceipt.eventId],
    );
    assert.deepEqual(
      await refused('EventsIngest', { event: { ...event, action: 'Read.Invoice' } }),
      sender('IDEMPOTENCY_KEY_REUSED'),
    );
    client.clearSoapHeaders();

    const wrong = { ...event, action: 'nonsense' };
    const { batchResult } = await ask('EventsIngestBatch', {
      batch: { events: { item: [event, wrong, event] } },
    });
    assert.deepEqual(
      [batchResult.status, batchResult.successCount, batchResult.failureCount],
      ['PartialSuccess', 2, 1],
    );
    assert.equal(batchResult.results.item[1].error.code, 'VALIDATION_FAILED');
    assert.equal(batchResult.results.item[1].error.details.item[0].field, 'events[1].action');

    const { auditEvent } = (await ask('EventsGet', { eventId: ingestReceipt.eventId })).storedEvent;
    assert.deepEqual([auditEvent.timestamp, auditEvent.payload], [event.timestamp, payload]);
    await until(async () => (await ask('EventsList')).pagination.total === 3);
    const found = await ask('EventsSearch', {
      search: { query: 'action:Delete.*', pagination: { limit: 2 } },
    });
    assert.deepEqual([found.searchAnswer.results.item.length, found.searchAnswer.hasMore], [2, true]);
    const seen: string[] = [];
    let cursor: string | undefined;
    do {
      const { data, pagination } = await ask('EventsList', { limit: 2, ...(cursor && { cursor }) });
      seen.push(...[data.item].flat().map((each: { eventId: string }) => each.eventId));
      cursor = pagination.hasMore ? pagination.cursor : undefined;
    } while (cursor !== undefined);
    assert.equal(new Set(seen).size, 3);

    const [{ streamId }] = [(await ask('StreamsList')).data.item].flat() as [{ streamId: string }];
    const entries = await ask('StreamsListEvents', { streamId });
    assert.equal(entries.pagination.total, entries.data.item.length);
    const made = (await ask('ExportsCreate', { export: { format: 'CSV' } })).exportReceipt;
    assert.equal((await ask('ExportsGet', { exportId: made.exportId })).export.exportId, made.exportId);
    await ask('ExportsDelete', { exportId: made.exportId });

    assert.deepEqual(await refused('EventsIngest', { event: wrong }), sender('VALIDATION_FAILED'));
    assert.deepEqual(await refused('ExportsGet', { exportId: made.exportId }), sender('EXPORT_NOT_FOUND'));
    client.addHttpHeader('X-Tenant-Id', 'other');
    const [status, code] = await refused('EventsList', {});
    assert.deepEqual([status, code], [403, 'TENANT_MISMATCH']);
  });
}
