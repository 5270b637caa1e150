// What must hold of alerts and policies in the end, whatever was killed meanwhile.

import assert from 'node:assert/strict';
import type { List, Policy, PolicyViolation } from '@tallystick/contract';
import { checkDatabase, checkStore } from '../../../packages/server/src/check-store.ts';
import { until } from '../../../packages/server/src/testing/until.ts';
import type { Backend } from '../backends.ts';
import { type Ask, Client, event } from '../client.ts';
import type { EventInLog } from '../read-log.ts';
import type { Service } from '../running.ts';
import { type AlertLoad, TENANTS } from './alert-load.ts';
import { contentOf, expectedViolations, KIND, type Told, told } from './expected-violations.ts';
import type { ToldVersion } from './policy-changer.ts';
import { type StoredVersion, storedPolicies } from './stored-policies.ts';

const ALL_POLICIES = '/policies?limit=1000&status=Active,Inactive,Deleted';

type Store = Pick<Backend, 'start' | 'readLog'>;

async function read<T>(client: Client, tenant: string, path: string): Promise<T> {
  const { status, body } = await client.ask({ method: 'GET', path: `/api/v1${path}`, tenant });
  assert.equal(status, 200, JSON.stringify(body));
  return body as T;
}

async function allViolations(client: Client, tenant: string, query = ''): Promise<PolicyViolation[]> {
  const found: PolicyViolation[] = [];
  for (let path: string | null = `/violations?limit=1000${query}`; path !== null; ) {
    const { data, links }: List<PolicyViolation> = await read(client, tenant, path);
    found.push(...data);
    path = links.next && links.next.replace('/api/v1', '');
  }
  return found;
}

/** Waits until an event that comes now is judged: then all before it are. */
async function settle(client: Client): Promise<void> {
  for (const tenant of TENANTS) {
    const rule = { conditions: { action: 'Mark.Place' }, effect: { violationType: 'Marked' } };
    const send = async (ask: Ask) => {
      const { status, body } = await client.ask({ tenant, ...ask });
      assert.equal(status, 201, JSON.stringify(body));
      return body;
    };
    const policy = { name: `Mark ${Date.now()}`, policyType: 'Alert', rules: [rule] };
    await send({ path: '/api/v1/policies', body: policy });
    const marker = await send({ body: { ...event('marker'), action: 'Mark.Place' } });
    const { eventId } = marker as { eventId: string };
    await until(async () => {
      const marked = await allViolations(client, tenant, '&violationType=Marked');
      return marked.some((violation) => violation.eventId === eventId);
    });
  }
}

/** Exactly what the definition says: nothing is missing, nothing is there twice. Gives how many there are. */
export async function requireExactViolations(service: Pick<Service, 'url'>, store: Store): Promise<number> {
  using client = new Client(service.url);
  await settle(client);
  const [log, versions] = [await store.readLog(), await storedPolicies(store)];
  let count = 0;
  for (const tenant of TENANTS) {
    const expected = expectedViolations(log.get(tenant)!, ofTenant(versions, tenant));
    const found = (await allViolations(client, tenant)).map(told).sort();
    assert.deepEqual(differences(found, expected), { missing: [], surplus: [] }, tenant);
    count += found.length;
  }
  return count;
}

/** As often as each stands there. */
function differences(found: readonly Told[], expected: readonly Told[]) {
  const left = new Map<Told, number>();
  for (const each of expected) left.set(each, (left.get(each) ?? 0) + 1);
  for (const each of found) left.set(each, (left.get(each) ?? 0) - 1);
  const where = (is: (count: number) => boolean) => [...left].filter(([, n]) => is(n)).map(([each]) => each);
  return { missing: where((n) => n > 0), surplus: where((n) => n < 0) };
}

/**
 * For each rule without a threshold: an acknowledged event that was sent after the answer to a version, and answered before the
 * next one was asked for, has one violation. Gives for how many that was so.
 */
export async function requireTold(service: Pick<Service, 'url'>, load: AlertLoad): Promise<number> {
  using client = new Client(service.url);
  let count = 0;
  for (const tenant of TENANTS) {
    const violations = await allViolations(client, tenant);
    const raised = Map.groupBy(violations, ({ eventId, ruleId }) => `${eventId} ${ruleId}`);
    for (const version of load.versions.filter((each) => each.tenant === tenant)) {
      const isBetween = (each: AlertLoad['events'][number]) =>
        each.tenant === tenant &&
        each.sentAtMs > version.answeredAtMs &&
        each.answeredAtMs < version.endsAtMs;
      for (const { eventId, action } of load.events.filter(isBetween)) {
        for (const { ruleId } of plainRules(version, action)) {
          const ofRule = raised.get(`${eventId} ${ruleId}`) ?? [];
          const versions = ofRule.map(({ policyVersion }) => policyVersion);
          assert.deepEqual(versions, [version.version], `${tenant} ${eventId} ${ruleId}`);
          count += 1;
        }
      }
    }
  }
  return count;
}

function plainRules({ policyType, status, rules }: ToldVersion, action: string) {
  if (policyType !== 'Alert' || status !== 'Active') return [];
  return rules.filter(
    ({ enabled, conditions, effect }) =>
      enabled && conditions['action'] === action && effect.threshold === undefined,
  );
}

/**
 * Every acknowledged change is there with its notice; of those that were not answered each is there as a whole, or not at all:
 * there is a notice for every version and a version for every notice. Every version of a policy can be read, also of one that is
 * deleted. Gives how many are there that were not acknowledged.
 */
export async function requireWholePolicies(
  service: Pick<Service, 'url'>,
  store: Store,
  load: AlertLoad,
): Promise<number> {
  using client = new Client(service.url);
  const [log, versions] = [await store.readLog(), await storedPolicies(store)];
  const asTold = new Map(versions.map((each) => [nameOf(each), each]));
  for (const { tenant, policyId, version, policyType, status, rules } of load.versions) {
    const stored = asTold.get(`${tenant} ${policyId} ${version}`);
    const { policyType: type, state, rules: those } = stored ?? ({} as Partial<StoredVersion>);
    assert.deepEqual([type, state, those], [policyType, status, rules], `${tenant} ${policyId} ${version}`);
  }
  const marks = versions.filter(({ rules }) => rules[0]?.effect.violationType === 'Marked');
  const unacknowledged = versions.length - marks.length - load.versions.length;
  assert.ok(unacknowledged >= 0 && unacknowledged <= load.givenUp, `${unacknowledged} of ${load.givenUp}`);
  for (const tenant of TENANTS) {
    requireNotices(tenant, log.get(tenant)!, ofTenant(versions, tenant));
    const { data } = await read<List<Policy>>(client, tenant, ALL_POLICIES);
    assert.equal(data.length, new Set(ofTenant(versions, tenant).map(({ policyId }) => policyId)).size);
    for (const { policyId, version } of data) {
      const path = `/policies/${policyId}/versions?limit=1000`;
      const listed = (await read<List<Policy>>(client, tenant, path)).data.map((each) => each.version);
      const expected = Array.from({ length: version }, (_, i) => version - i);
      assert.deepEqual(listed, expected, `${tenant} ${policyId}`);
    }
  }
  return unacknowledged;
}

/** By the command, which reads all of the store. */
/** By what `tallystick verify` calls: to start the command takes longer than it does. */
export async function requireVerified({ start }: Pick<Backend, 'start'>): Promise<void> {
  const { dataDirectory, env } = start;
  const url = env['Storage__Url'];
  const asked = { keys: [], seen: [] };
  const { faults, verified } = await (url === undefined
    ? checkStore(dataDirectory, asked)
    : checkDatabase(url, { ...asked, directory: dataDirectory, setting: 'Storage__Url' }));
  assert.deepEqual(faults, []);
  assert.equal(verified, true);
}

/** In the order of the log the versions of a policy are counted from 1, and each names its notice. */
function requireNotices(
  tenant: string,
  log: readonly EventInLog[],
  versions: readonly StoredVersion[],
): void {
  const newest = new Map<string, number>();
  const noticed = log
    .filter(({ kind }) => kind === KIND.policyChange)
    .map((entry) => {
      const { policyId, policyVersion } = contentOf(entry).payload!;
      assert.equal(policyVersion, (newest.get(policyId) ?? 0) + 1, `${tenant} ${policyId}`);
      newest.set(policyId, policyVersion);
      return `${tenant} ${policyId} ${policyVersion} ${entry.eventId}`;
    });
  const stored = versions.map((each) => `${nameOf(each)} ${each.noticeId}`);
  assert.deepEqual(stored.sort(), noticed.sort());
}

function nameOf({
  tenant,
  policyId,
  version,
}: Pick<StoredVersion, 'tenant' | 'policyId' | 'version'>): string {
  return `${tenant} ${policyId} ${version}`;
}

function ofTenant(versions: readonly StoredVersion[], tenant: string): StoredVersion[] {
  return versions.filter((each) => each.tenant === tenant);
}
