// Fills a tenant in a process of its own: the events for reading, each once, as fast as they are acknowledged. Prints
// one line of JSON when all are. Settings arrive as JSON in the first argument.

import { readingEvent } from '../reading-event.ts';
import { Connection, headersOf, requestOf } from './connection.ts';

export interface Filling {
  readonly port: number;
  readonly apiKey: string;
  readonly tenant: string;
  readonly events: number;
}

export interface Filled {
  readonly seconds: number;
  /** Of events that are far from each other: the first of each of the first requests. */
  readonly eventIds: readonly string[];
}

const BATCH = 500;
const CONNECTIONS = 4;
const EVENT_IDS_MAX = 1000;

async function run({ port, apiKey, tenant, events }: Filling): Promise<Filled> {
  const headers = headersOf(apiKey, tenant);
  const eventIds: string[] = [];
  let next = 0;
  const send = async () => {
    const connection = new Connection(port);
    while (next < events) {
      const from = next;
      next = Math.min(events, from + BATCH);
      const made = Array.from({ length: next - from }, (_, i) => readingEvent(from + i));
      const body = Buffer.from(JSON.stringify({ events: made }));
      const answer = await connection.ask(requestOf('POST', '/api/v1/audit-events/batch', headers, body));
      if (answer.status !== 201) throw new Error(`a batch was answered by ${answer.status}`);
      if (eventIds.length < EVENT_IDS_MAX) eventIds.push(firstEventId(answer.body));
    }
    connection.close();
  };
  const startedAt = performance.now();
  await Promise.all(Array.from({ length: CONNECTIONS }, send));
  return { seconds: (performance.now() - startedAt) / 1000, eventIds };
}

function firstEventId(body: Buffer): string {
  const { results } = JSON.parse(String(body)) as { results: { eventId: string }[] };
  return results[0]!.eventId;
}

process.stdout.write(`${JSON.stringify(await run(JSON.parse(process.argv[2]!) as Filling))}\n`);
