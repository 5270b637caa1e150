// Conditions of rules, compiled: how many of them one core judges over the facts of an event, and into a payload that is
// parsed already. Beside them stand the plain evaluator that tests hold them to, and a detector over all of the payload.

import { compileConditions } from '../packages/server/src/policies/compile-condition.ts';
import { parseConditions } from '../packages/server/src/policies/condition.ts';
import type { EventFacts } from '../packages/server/src/policies/event-facts.ts';
import { plainlyHold } from '../packages/server/src/policies/testing/plain-condition.ts';
import { type Benchmark, type Contender, type Measured, type Row, takeTurns } from './measure.ts';
import { standardEvent } from './standard-event.ts';

const EVENTS = 200;
const ROUNDS = 20;

/** Rules as people write them: about one in three of each list holds for the standard event. */
const OVER_FACTS = [
  { actions: ['Delete.*', 'Approve.*'], 'resource.resourceType': 'Invoice' },
  { 'resource.resourceType': ['Invoice', 'Order', 'Payment'], outcome: { ne: 'Success' } },
  { 'actor.actorType': 'Service', action: 'Read.Secret' },
  { classifications: ['Confidential', 'Secret'], 'actor.userName': { contains: '@acme.test' } },
  { actor: { userId: { startsWith: 'u-9' } }, 'resource.resourceId': { gte: 'INV-00000100' } },
];
const INTO_PAYLOAD = [
  { 'payload.amount': { gt: 1000 } },
  { 'payload.lines[*].sku': { startsWith: 'desk' }, 'payload.amount': { lte: 500 } },
  { payload: { lines: { '[0]': { taxed: false } } } },
  { '$.payload.lines[*].costCentre': 'B-7', 'context.userAgent': { contains: 'curl' } },
  { 'payload.note': { contains: 'discount' }, 'payload.approvedBy': { exists: false } },
];
const DETECTING = [{ payload: { detects: 'CardNumber' } }, { payload: { detects: 'NationalId' } }];

export const benchmark: Benchmark = {
  name: 'conditions',
  title: `conditions of rules, on ${EVENTS} different standard events in turn`,
  run: async () => [
    ...(await measure('over facts', OVER_FACTS, 200, '≥ 3000000 a second')),
    ...(await measure('into the payload', INTO_PAYLOAD, 200, '≥ 200000 a second')),
    ...(await measure('detectors over the payload', DETECTING, 5)),
  ],
};

async function measure(
  title: string,
  conditions: readonly object[],
  repeats: number,
  goal?: string,
): Promise<Row[]> {
  const events = Array.from({ length: EVENTS }, (_, i) => standardEvent(i));
  const rules = conditions.map((each) => compileConditions(parseConditions(each, '').conditions!));
  const facts = events.map(({ context, payload, ...event }): EventFacts => {
    const content = { context, payload };
    return { ...event, content: () => content } as EventFacts;
  });
  const measured = await takeTurns(
    [
      each('compiled', repeats, facts, (event) => rules.filter((holdsFor) => holdsFor(event)).length),
      each('plain', 1, events, (event) => conditions.filter((rule) => plainlyHold(rule, event)).length),
    ].map((contender) => perRule(contender, rules.length)),
    ROUNDS,
  );
  const [compiled, plain] = measured;
  return [row(title, plain!), { ...row(title, compiled!, plain), ...(goal !== undefined && { goal }) }];
}

function each<Item>(
  name: string,
  repeats: number,
  items: readonly Item[],
  work: (item: Item) => number,
): Contender {
  let held = 0;
  const run = (): number => {
    for (let repeat = 0; repeat < repeats; repeat++) for (const item of items) held += work(item);
    // Used, so that the engine cannot leave the work out.
    return held < 0 ? 0 : repeats * items.length;
  };
  return { name, run };
}

function perRule({ name, run }: Contender, rules: number): Contender {
  return { name, run: async () => rules * (await run()) };
}

function row(title: string, { name, unitsPerSecond }: Measured, peer?: Measured): Row {
  const figure = `${unitsPerSecond.toFixed(0)} a second`;
  const against = peer && { against: peer.name, ratio: unitsPerSecond / peer.unitsPerSecond };
  return { name: `${title}: ${name}`, figure, ...against };
}
