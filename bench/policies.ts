// Ingestion under policies (W13): single events and batches of tenants with ten policies of ten rules each, against the same
// events of a tenant without. Rules over actor, action and resource take no parsing of content; rules into the payload do.

import { type Backend, POSTGRES, SQLITE } from './backends.ts';
import type { Benchmark, Row } from './measure.ts';
import { untilIndexed } from './processes/caller.ts';
import type { Load } from './processes/load.ts';
import { ADMIN_KEY, applyLoad, type RunningService, startService } from './processes/processes.ts';
import { figureRow, inTurns, ratioRow } from './turns.ts';

const ROUNDS: Readonly<Record<Backend['name'], number>> = { SQLite: 8, PostgreSQL: 6 };
const POLICIES = 10;
const RULES = 10;

export const benchmark = policiesOn(SQLITE);
export const onPostgres = policiesOn(POSTGRES);

function policiesOn(backend: Backend): Benchmark {
  return {
    name: `policies${backend.suffix}`,
    title: `W13 on ${backend.name}: ingestion under ${POLICIES} policies of ${RULES} rules`,
    run: () => measurePolicies(backend),
  };
}

interface Ruled {
  readonly tenantPrefix: string;
  readonly name: string;
  readonly goal: string;
  readonly conditions: (number: number) => object;
}

const RULED: readonly Ruled[] = [
  { tenantPrefix: 'facts', name: 'rules over facts', goal: '>= 0.95', conditions: overFacts },
  { tenantPrefix: 'payload', name: 'rules into the payload', goal: '>= 0.80', conditions: intoPayload },
];

async function measurePolicies(backend: Backend): Promise<Row[]> {
  await using opened = await backend.open();
  await using service = await startService(undefined, [], opened.settings);
  for (const { tenantPrefix, conditions } of RULED)
    await makePolicies(service, `${tenantPrefix}-0`, conditions);
  const rest = { rounds: ROUNDS[backend.name], before: () => untilIndexed(service, ADMIN_KEY) };
  const here = { port: service.port, tenants: 1, apiKey: ADMIN_KEY };
  const single = { ...here, connections: 64, eventsPerRequest: 1, path: '/api/v1/audit-events' };
  const batch = { ...here, connections: 8, eventsPerRequest: 500, path: '/api/v1/audit-events/batch' };
  return [
    ...(await measure('W1 single events', single, rest)),
    ...(await measure('W2 batches of 500', batch, rest)),
  ];
}

async function measure(
  name: string,
  load: Omit<Load, 'durationMs' | 'tenantPrefix'>,
  rest: Parameters<typeof inTurns>[1],
): Promise<Row[]> {
  const contender = (tenantPrefix: string) => ({
    name: `${name} ${tenantPrefix}`,
    turn: (durationMs: number) => applyLoad({ ...load, tenantPrefix, durationMs }),
  });
  const contenders = ['plain', ...RULED.map(({ tenantPrefix }) => tenantPrefix)].map(contender);
  const [plain = [], ...ruled] = await inTurns(contenders, rest);
  return [
    figureRow(`${name}, no policies`, plain),
    ...ruled.map((turns, i) =>
      ratioRow(`${name}, ${RULED[i]!.name}`, turns, {
        against: 'no policies',
        beside: plain,
        goal: RULED[i]!.goal,
      }),
    ),
  ];
}

/** Half of them classify, half say how long content is kept. */
async function makePolicies(
  { port }: RunningService,
  tenant: string,
  conditions: Ruled['conditions'],
): Promise<void> {
  for (let i = 0; i < POLICIES; i++) {
    const isClassifying = i % 2 === 0;
    const effect = isClassifying ? { classification: 'Confidential' } : { retentionPeriod: `P${i}Y` };
    const rules = Array.from({ length: RULES }, (_, j) => ({
      conditions: conditions(i * RULES + j),
      effect,
    }));
    const policyType = isClassifying ? 'Classification' : 'Retention';
    const response = await fetch(`http://127.0.0.1:${port}/api/v1/policies`, {
      method: 'POST',
      headers: { 'X-API-Key': ADMIN_KEY, 'X-Tenant-Id': tenant, 'Content-Type': 'application/json' },
      body: JSON.stringify({ name: `policy ${i}`, policyType, rules }),
    });
    if (response.status !== 201) throw new Error(`a policy was answered ${await response.text()}`);
  }
}

/** A few match the standard event. */
function overFacts(number: number): object {
  const forms = [
    { action: `Delete.Thing${number}` },
    { action: ['Read.*', `Change.Thing${number}`], 'actor.actorType': 'Service' },
    { 'resource.resourceType': ['Invoice', `Thing${number}`], 'actor.actorType': 'User' },
    { 'actor.userId': { startsWith: `svc-${number}` } },
    { action: { startsWith: 'Approve.' }, outcome: 'Denied' },
  ];
  return forms[number % forms.length]!;
}

function intoPayload(number: number): object {
  const forms = [
    { 'resource.resourceType': 'Invoice', 'payload.amount': { gt: 1000 + number } },
    { 'payload.lines[*].sku': `desk/${number}` },
    { 'payload.note': { contains: `offer ${number}` } },
    { 'payload.lines[0].quantity': { gte: number } },
    { 'context.ipAddress': { startsWith: '10.' }, 'payload.currency': { exists: true } },
  ];
  return forms[number % forms.length]!;
}
