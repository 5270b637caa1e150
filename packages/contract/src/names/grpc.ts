// What an operation is called over gRPC: one service per noun, one method per verb.

import type { Version } from '../schema.ts';

export interface GrpcName {
  readonly service: string;
  readonly method: string;
}

const capital = (word: string): string => word.slice(0, 1).toUpperCase() + word.slice(1);

/** `events.ingestBatch` → `EventsService`, `IngestBatch`. */
export function grpcName(operation: string): GrpcName {
  const [noun = '', verb = ''] = operation.split('.');
  return { service: `${capital(noun)}Service`, method: capital(verb) };
}

export const grpcPackage = (version: Version): string => `tallystick.${version}`;

/** The path of a call: `/tallystick.v1.EventsService/Ingest`. */
export function grpcPath(version: Version, operation: string): string {
  const { service, method } = grpcName(operation);
  return `/${grpcPackage(version)}.${service}/${method}`;
}
