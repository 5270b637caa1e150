// A load generator in a process of its own: keeps so many connections busy for so long, each with one request on
// the wire at a time, and prints one line of JSON with what it saw. Requests are made beforehand where that is possible.
// Settings arrive as JSON in the first argument.

import { standardEvent } from '../standard-event.ts';
import { CarefulRequest, ID_PLACE, KEY_PLACE } from './careful-requests.ts';
import { type Answer, Connection, headersOf, requestOf } from './connection.ts';
import { BODIES, observed, type Tell } from './observed.ts';
import { SPOKEN_FORMS, type SpokenOverHttp } from './spoken-bodies.ts';

export interface Load {
  readonly port: number;
  readonly path: string;
  readonly connections: number;
  readonly durationMs: number;
  /** Events in a request: 1 is a single ingest, more is a batch. */
  readonly eventsPerRequest: number;
  /** Requests take turns over so many tenants: `<prefix>-0` and so on. */
  readonly tenants: number;
  readonly tenantPrefix: string;
  readonly apiKey: string;
  /** What careful clients send with each event (`ids`) and each request (`key`); one tenant only. */
  readonly care?: { readonly ids: boolean; readonly key: boolean };
  /** Single events as another protocol sends them. */
  readonly as?: SpokenOverHttp;
}

function bodies({ eventsPerRequest, care, as }: Load): Buffer[] {
  return Array.from({ length: BODIES }, (_, body) => {
    const events = Array.from({ length: eventsPerRequest }, (_unused, i) => ({
      ...(care?.ids === true && { eventId: ID_PLACE }),
      ...standardEvent(body * eventsPerRequest + i),
    }));
    if (as !== undefined) return Buffer.from(SPOKEN_FORMS[as].body(events[0]!));
    return Buffer.from(JSON.stringify(eventsPerRequest === 1 ? events[0] : { events }));
  });
}

function keepBusy(load: Load, tell: Tell): () => void {
  const prepared = bodies(load);
  const form = load.as === undefined ? undefined : SPOKEN_FORMS[load.as];
  let next = 0;
  const key = load.care?.key === true ? `Idempotency-Key: ${KEY_PLACE}\r\n` : '';
  const request = (tenant: number, body: Buffer) => {
    const headers = headersOf(load.apiKey, `${load.tenantPrefix}-${tenant}`) + key;
    return requestOf('POST', load.path, headers, body, form?.contentType);
  };
  const made = load.tenants === 1 ? prepared.map((body) => request(0, body)) : [];
  const careful = load.care === undefined ? [] : made.map((bytes) => new CarefulRequest(bytes));
  const isStored = (answer: Answer) =>
    form === undefined ? answer.status === 201 : answer.body.includes(form.stored);
  const connections = Array.from({ length: load.connections }, () => new Connection(load.port));
  for (const connection of connections) {
    const send = () => {
      const at = next++;
      const bytes =
        careful[at % BODIES]?.next() ??
        made[at % BODIES] ??
        request(at % load.tenants, prepared[at % BODIES]!);
      connection.send(bytes, take);
    };
    const take = (answer: Answer) => {
      tell(answer.latencyMs, isStored(answer) ? undefined : answer.status);
      send();
    };
    send();
  }
  return () => connections.forEach((connection) => connection.close());
}

const load = JSON.parse(process.argv[2]!) as Load;
await observed(load, (tell) => keepBusy(load, tell));
