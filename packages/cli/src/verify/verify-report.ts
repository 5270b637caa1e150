// What `tallystick verify` says: for people, and as JSON for programs.

import { paint } from '../output/paint.ts';
import { printable } from '../output/printable.ts';
import {
  bundleVerdictRows,
  type BundleVerdict,
  checkpointRows,
  type EvidenceError,
  type EventVerdict,
  exportVerdictRows,
  type ExportVerdict,
  historyRows,
  KINDS,
  refusalRows,
  type VerdictRow,
} from '@tallystick/evidence';

export interface Report {
  readonly text: string;
  readonly json: Readonly<Record<string, unknown>>;
}

export function reportBundle(file: string, verdict: BundleVerdict): Report {
  const rows = bundleVerdictRows(verdict);
  return { text: lines(`verified  ${file}`, rows), json: { verified: true, kind: 'Bundle', ...verdict } };
}

export function reportExport(file: string, verdict: ExportVerdict): Report {
  const text = lines(`verified  ${file}`, exportVerdictRows(verdict));
  return { text, json: { verified: true, kind: 'Export', ...verdict } };
}

export function reportEvent(file: string, verdict: EventVerdict): Report {
  const { entry, origin, leaf, checkpoint, event, whole } = verdict;
  const receivedAt = new Date(entry.receivedAtMs).toISOString();
  const { kind, index, eventId } = entry;
  const rows: VerdictRow[] = [
    ['log', origin],
    [kind === KINDS.event ? 'event' : 'notice', `${eventId}, index ${index}, received ${receivedAt}`],
    ['shown', whole ? 'whole' : 'in part'],
    ...checkpointRows(checkpoint),
    ...historyRows(verdict),
  ];
  const text = `${lines(`verified  ${file}`, rows)}${eventText(event)}\n`;
  const json = {
    verified: true,
    kind: 'EventProof',
    origin,
    eventId,
    index,
    receivedAt,
    leaf,
    whole,
    checkpoint,
    ...(verdict.extends === undefined ? {} : { extends: verdict.extends }),
    ...(verdict.precedes === undefined ? {} : { precedes: verdict.precedes }),
    event,
  };
  return { text, json };
}

export function reportRefusal(file: string, error: EvidenceError): Report {
  const { reason, index, line, message } = error;
  return {
    text: lines(`NOT verified  ${file}`, refusalRows(error)),
    json: { verified: false, reason, index: index ?? null, line: line ?? null, message },
  };
}

const READING_ORDER = ['timestamp', 'actor', 'action', 'resource', 'classification', 'outcome'];

/** Units come by tag, which is no order for people. */
function inReadingOrder(event: Readonly<Record<string, unknown>>): Record<string, unknown> {
  const fields = [...READING_ORDER.filter((field) => field in event), ...Object.keys(event).sort()];
  return Object.fromEntries(fields.map((field) => [field, event[field]]));
}

/** Line breaks in values are escaped by JSON; those between the lines are ours. */
function eventText(event: Readonly<Record<string, unknown>>): string {
  return JSON.stringify(inReadingOrder(event), null, 2).split('\n').map(printable).join('\n');
}

/** The words with which a report begins are ours, whatever it is about. */
export function paintVerdict(text: string): string {
  return text
    .replace(/^verified\b/, (words) => paint('green', words))
    .replace(/^NOT verified\b/, (words) => paint('red', words));
}

export function lines(title: string, rows: readonly VerdictRow[]): string {
  return [
    printable(title),
    ...rows.map(([name, value]) => `  ${name.padEnd(10)} ${printable(value)}`),
    '',
  ].join('\n');
}
