// What an operation is called over SOAP: `events.ingestBatch` is `EventsIngestBatch`.

export { pascalName as soapName } from '../operation.ts';
