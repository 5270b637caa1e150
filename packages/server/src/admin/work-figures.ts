// The figures of the meter, of one tenant or of the process.

import {
  type AnswerKind,
  AuditError,
  type OperationName,
  type Percentiles,
  REST_STATUS_OF_ANSWER,
  REST_STATUS_OF_ERROR,
} from '@tallystick/contract';

import type { Outcomes } from './outcome-window.ts';

/** Ingest: events are sent. Query: events are read. Everything else is neither. */
export type Work = 'ingest' | 'query' | 'other';

/** What came of an attempt to deliver to a consumer. */
export const DELIVERY_OUTCOMES = [
  'Delivered',
  'ClientError',
  'ServerError',
  'OtherStatus',
  'Timeout',
  'Unreachable',
] as const;
export type DeliveryOutcome = (typeof DELIVERY_OUTCOMES)[number];

export function outcomeOfDelivery({
  isDelivered,
  status,
  fault,
}: {
  readonly isDelivered: boolean;
  readonly status: number | undefined;
  readonly fault: string | undefined;
}): DeliveryOutcome {
  if (isDelivered) return 'Delivered';
  if (status === undefined) return fault === 'Timeout' ? 'Timeout' : 'Unreachable';
  if (status >= 500) return 'ServerError';
  return status >= 400 ? 'ClientError' : 'OtherStatus';
}

/** Answered, refused by us, failed by us: as REST has it, for all protocols. */
export type StatusKind = '2xx' | '4xx' | '5xx';

/** A probe that reports that the service should not be used has not failed: it answers exactly what was asked. */
export function statusOfAnswer(kind: AnswerKind): StatusKind {
  return kind === 'Unavailable' ? '2xx' : kindOf(REST_STATUS_OF_ANSWER[kind]);
}

/** An error outside the catalogue is ours. */
export function statusOfError(error: unknown): StatusKind {
  return error instanceof AuditError ? kindOf(REST_STATUS_OF_ERROR[error.code]) : '5xx';
}

function kindOf(status: number): StatusKind {
  if (status < 400) return '2xx';
  return status < 500 ? '4xx' : '5xx';
}

export interface RequestCount {
  readonly operation: OperationName;
  readonly status: StatusKind;
  readonly count: number;
}

/** How long things took over the last minutes, and how many they were. */
export interface LatelyMeasured {
  readonly count: number;
  readonly percentiles: Percentiles;
}

/** Of requests that were not refused. */
export interface Latencies {
  /** Over the last minutes; undefined when there were none. */
  readonly lately: LatelyMeasured | undefined;
  /** Since the start. */
  readonly count: number;
  readonly sumSeconds: number;
}

export interface WorkFigures {
  /** The operations that were called, in the order of the contract. */
  readonly requests: readonly RequestCount[];
  readonly eventsAccepted: number;
  /** Attempts to deliver to consumers, those of every outcome. */
  readonly deliveryAttempts: readonly { readonly outcome: DeliveryOutcome; readonly count: number }[];
  /** Over the last hour. */
  readonly availability: Outcomes;
  readonly ingest: Latencies;
  readonly query: Latencies;
}
