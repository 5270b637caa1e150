// The ceiling of ingestion: a bare Fastify server, in a process of its own, that parses and validates the same
// bodies against the same schemas and stores nothing. Prints its port.

import { BatchRequest, EventDraft, FORMATS } from '@tallystick/contract';
import { fastify } from 'fastify';

const server = fastify({
  bodyLimit: 16 * 1024 * 1024,
  ajv: {
    customOptions: {
      removeAdditional: false,
      coerceTypes: false,
      allErrors: true,
      strict: false,
      formats: FORMATS,
    },
  },
});
const receipt = { eventId: '01KE0000000000000000000042', tenantId: 'acme', status: 'Accepted' };
server.post('/single', { schema: { body: EventDraft } }, (_request, reply) => {
  reply.code(201).send(receipt);
});
server.post('/batch', { schema: { body: BatchRequest } }, (_request, reply) => {
  reply.code(201).send(receipt);
});
await server.listen({ port: 0, host: '127.0.0.1' });
const address = server.server.address();
process.stdout.write(`${typeof address === 'object' && address !== null ? address.port : 0}\n`);
