// What no schema can say of the request for an export.

import type { ErrorDetail } from '@tallystick/contract';
import { type OwnViolation, type Received, receivedMember } from '../call.ts';
import { queryFaults, timeRangeFaults } from '../events/question.ts';
import { parseConditions } from '../policies/condition.ts';
import { contentColumnFaults } from './content-columns.ts';
import { destinationFaults } from './destination-faults.ts';

/** The input need not follow the schema. */
export function exportFaults({ export: sent }: Received['input']): OwnViolation[] {
  const [criteria, other] = [receivedMember(sent, 'criteria'), receivedMember(sent, 'searchCriteria')];
  const details = [
    ...(criteria === undefined || other === undefined ? [] : [twice]),
    ...criteriaFaults(criteria, 'criteria'),
    ...criteriaFaults(other, 'searchCriteria'),
    ...contentColumnFaults(sent),
    ...proofFaults(sent),
  ];
  return [
    ...details.map((detail) => ({ member: 'export', detail })),
    ...destinationFaults(receivedMember(sent, 'destination'), 'export'),
  ];
}

/** Of a request for many exports, whose rows must be in the order of the log. */
export function criteriaOfFileFaults(sent: unknown): ErrorDetail[] {
  const criteria = receivedMember(sent, 'criteria');
  const sort = receivedMember(criteria, 'sort');
  const unsorted: ErrorDetail = {
    field: 'criteria.sort',
    issue: 'must be left out: the files of a schedule are in the order of the log',
  };
  return [
    ...(Array.isArray(sort) && sort.length > 0 ? [unsorted] : []),
    ...criteriaFaults(criteria, 'criteria'),
    ...contentColumnFaults(sent),
  ];
}

const twice: ErrorDetail = {
  field: 'searchCriteria',
  issue: 'must not be given together with criteria: both say the same',
};

function criteriaFaults(criteria: unknown, at: string): ErrorDetail[] {
  const range = receivedMember(receivedMember(criteria, 'filters'), 'timeRange');
  const [from, to] = [receivedMember(range, 'from'), receivedMember(range, 'to')];
  return [
    ...queryFaults(receivedMember(criteria, 'query'), `${at}.query`),
    ...timeRangeFaults(from, to, `${at}.filters.timeRange.from`),
    ...sortFaults(receivedMember(criteria, 'sort'), at),
    ...conditionFaults(receivedMember(criteria, 'conditions'), `${at}.conditions`),
  ];
}

function sortFaults(steps: unknown, at: string): ErrorDetail[] {
  if (!Array.isArray(steps)) return [];
  const place = steps.findIndex((step: unknown) => receivedMember(step, 'field') === 'relevance');
  if (place < 0) return [];
  const issue = 'must be timestamp, eventId or action: relevance orders only the newest matches';
  return [{ field: `${at}.sort[${place}].field`, issue, value: 'relevance' }];
}

function conditionFaults(conditions: unknown, at: string): ErrorDetail[] {
  if (typeof conditions !== 'object' || conditions === null) return [];
  return [...(parseConditions(conditions, at).faults ?? [])];
}

function proofFaults(sent: unknown): ErrorDetail[] {
  if (receivedMember(sent, 'includeProofs') !== true || receivedMember(sent, 'compression') === 'Zip')
    return [];
  return [{ field: 'includeProofs', issue: 'needs the compression Zip: the proofs stand beside the data' }];
}
