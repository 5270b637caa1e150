// A single event as each protocol over HTTP/1.1 sends it: where, as what, and what an answer has in it that says it is stored.

import { soapOperations } from '@tallystick/contract/soap';
import { AnswerWriter, envelope } from '../../packages/server/src/protocols/soap/answer-writer.ts';

export type SpokenOverHttp = 'GraphQL' | 'SOAP';

export interface SpokenForm {
  readonly contentType: string;
  readonly body: (event: object) => string;
  /** A status of 200 says too little. */
  readonly stored: string;
}

const JSON_TYPE = 'application/json';
const MUTATION = 'mutation ($event: EventDraftInput!) { ingestEvent(event: $event) { eventId status } }';

const INGEST = soapOperations().find(({ operation }) => operation.name === 'events.ingest')!;

export const SPOKEN_FORMS: Readonly<Record<SpokenOverHttp, SpokenForm>> = {
  GraphQL: {
    contentType: JSON_TYPE,
    body: (event) => JSON.stringify({ query: MUTATION, variables: { event } }),
    stored: '"status":"Accepted"',
  },
  SOAP: {
    contentType: `application/soap+xml; charset=utf-8; action="${INGEST.action}"`,
    body: (event) => envelope('1.2', '', new AnswerWriter().element(INGEST.name, INGEST.request, { event })),
    stored: 'kind="Created"',
  },
};
