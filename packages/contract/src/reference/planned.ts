// The operations that this version does not serve yet, as the pages say it. All of it follows from the marks on the
// operations: when a mark is removed, it disappears from every page.

import { PROTOCOL_ERRORS, ROUTING_ERRORS } from '../errors.ts';
import type { ErrorCode } from '../errors.ts';
import { PLANNED_PROTOCOLS, PROTOCOLS } from '../operation.ts';
import type { Operation, Protocol } from '../operation.ts';
import { errorsOf, OPERATION_GROUPS, operationNamed, OPERATIONS } from '../operations.ts';
import type { Permission } from '../permissions.ts';

/** Stands in front of everything planned. */
export const PLANNED = '*Planned.* ';

const PROTOCOL_NAMES: Readonly<Record<Protocol, string>> = {
  rest: 'REST',
  graphql: 'GraphQL',
  grpc: 'gRPC',
  soap: 'SOAP',
  mcp: 'MCP',
};

export const SERVED_OPERATIONS: readonly Operation[] = OPERATIONS.filter(({ planned }) => planned !== true);

export const markIf = (isPlanned: boolean, text: string): string => (isPlanned ? PLANNED + text : text);

export function isGroupPlanned(title: keyof typeof OPERATION_GROUPS): boolean {
  const operations: readonly Operation[] = OPERATION_GROUPS[title];
  return operations.every(({ planned }) => planned === true);
}

/** Rates are limited from the version on that lets an operator replenish them. */
export function areRatesPlanned(): boolean {
  return operationNamed('rateLimits.replenish').planned === true;
}

export function isErrorPlanned(code: ErrorCode): boolean {
  const ofNoOperation: readonly ErrorCode[] = [...ROUTING_ERRORS, ...PROTOCOL_ERRORS];
  return !ofNoOperation.includes(code) && !SERVED_OPERATIONS.some((each) => errorsOf(each).includes(code));
}

/** Whether only planned operations send the header; most headers are named by no single operation. */
export function isHeaderPlanned(name: string): boolean {
  if (name.startsWith('X-RateLimit-')) return areRatesPlanned();
  const senders = OPERATIONS.filter(({ rest }) => Object.keys(rest.answerHeaders ?? {}).includes(name));
  return senders.length > 0 && senders.every(({ planned }) => planned === true);
}

export function isPermissionPlanned(name: Permission): boolean {
  return !SERVED_OPERATIONS.some(({ permission }) => permission === name);
}

/** How much of the interface this version serves, for the page of operations; empty once it serves all of it. */
export function servedText(): string {
  const sentences: string[] = [];
  const [served, all] = [SERVED_OPERATIONS.length, OPERATIONS.length];
  if (served < all)
    sentences.push(
      `This version serves ${served} of the ${all}. The others are marked *planned*: their form is agreed, and a call to one answers 404 \`ROUTE_NOT_FOUND\`.`,
    );
  if (PLANNED_PROTOCOLS.length > 0) {
    const namesOf = (protocols: readonly Protocol[]) =>
      protocols.map((protocol) => PROTOCOL_NAMES[protocol]).join(', ');
    const spoken = PROTOCOLS.filter((protocol) => !PLANNED_PROTOCOLS.includes(protocol));
    sentences.push(`Protocols: ${namesOf(spoken)}; planned: ${namesOf(PLANNED_PROTOCOLS)}.`);
  }
  return sentences.join('\n');
}
