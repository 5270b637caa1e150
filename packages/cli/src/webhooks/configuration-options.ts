// The options that say how a subscription is configured. Throws CannotRun.

import { CLASSIFICATIONS, EventTypeName, type SubscriptionConfiguration } from '@tallystick/contract';
import { EvidenceError, parseJson } from '@tallystick/evidence';
import { CannotRun } from '../cannot-run.ts';
import { namesIn, oneOf, wordsOf } from '../given-option.ts';

export interface ConfigurationOptions {
  readonly name?: string;
  readonly events?: string;
  readonly filters?: string;
  readonly clearance?: string;
  readonly ordered?: boolean;
}

/** What is given of it. */
export function configurationIn({
  name,
  events,
  filters,
  clearance,
  ordered,
}: ConfigurationOptions): Partial<SubscriptionConfiguration> {
  return {
    ...(name !== undefined && { name }),
    ...(events !== undefined && { eventTypes: eventTypesIn(events) }),
    ...(filters !== undefined && {
      filters: objectIn(filters, '--filters', '{"payload.amount":{"gt":1000}}'),
    }),
    ...(clearance !== undefined && { clearance: oneOf(CLASSIFICATIONS, clearance, 'classification') }),
    ...(ordered !== undefined && { ordered }),
  };
}

export function eventTypesIn(text: string): SubscriptionConfiguration['eventTypes'] {
  const types = namesIn([text]).map((type) => oneOf(wordsOf(EventTypeName), type, 'type of events'));
  return types as SubscriptionConfiguration['eventTypes'];
}

/** The service says what is wrong with its members. */
export function objectIn(text: string, option: string, example: string): Record<string, never> {
  try {
    const read = parseJson(text);
    if (typeof read === 'object' && read !== null && !Array.isArray(read))
      return read as Record<string, never>;
  } catch (error) {
    if (!(error instanceof EvidenceError)) throw error;
    throw new CannotRun(`${option} is not JSON: ${error.message}`);
  }
  throw new CannotRun(`${option} is a JSON object: ${example}`);
}
