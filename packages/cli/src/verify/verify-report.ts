// What `tallystick verify` says: for people, and as JSON for programs.

import { paint } from '../output/paint.ts';
import { printable } from '../output/printable.ts';
import {
  type BundleVerdict,
  type EvidenceError,
  type EventVerdict,
  type ExportVerdict,
  KINDS,
} from '@tallystick/evidence';

export interface Report {
  readonly text: string;
  readonly json: Readonly<Record<string, unknown>>;
}

export function reportBundle(file: string, verdict: BundleVerdict): Report {
  const rows = bundleRows(verdict);
  return { text: lines(`verified  ${file}`, rows), json: { verified: true, kind: 'Bundle', ...verdict } };
}

export function reportExport(file: string, { manifest, ...verdict }: ExportVerdict): Report {
  const { rows, rowsUnproven, rowsInPart } = verdict;
  const { data, counts, requestedAt, exportId } = manifest;
  const said = [
    ['export', `${exportId}, requested ${requestedAt}`],
    ['data', `${data.name}: ${rows} rows, each as the bundle proves its event`],
  ] as [string, string][];
  if (rowsUnproven > 0)
    said.push(['unproven', `${rowsUnproven} rows of a log before a restore: signed, and in no bundle`]);
  if (rowsInPart > 0)
    said.push([
      'in part',
      `${rowsInPart} rows show a part of a value that is withheld: signed, and not proven`,
    ]);
  if (counts.withheld !== undefined) said.push(['left out', JSON.stringify(counts.withheld)]);
  const text = lines(`verified  ${file}`, [...said, ...bundleRows(verdict)]);
  return { text, json: { verified: true, kind: 'Export', ...verdict, manifest } };
}

function bundleRows(verdict: BundleVerdict): [string, string][] {
  const { from, to, entries, checkpoint } = verdict;
  const shown = [
    `${verdict.open} whole`,
    `${verdict.withheld} with something withheld`,
    `${verdict.deleted} with something deleted`,
  ];
  if (verdict.outsideFilter > 0) shown.push(`${verdict.outsideFilter} outside the filter`);
  const rows: [string, string][] = [
    ['log', verdict.origin],
    [
      'range',
      from === to ? `empty, at index ${from}` : `index ${from} to ${to - 1} of a log of ${checkpoint.size}`,
    ],
    ['entries', `${entries}, ${verdict.complete ? 'none left out' : 'may not be all'}`],
    ['received', receivedBetween(verdict)],
    ['shown', shown.join(', ')],
    ...checkpointRows(checkpoint),
  ];
  if (verdict.explainedBy.length > 0)
    rows.push(['deletions', `explained by notices at ${verdict.explainedBy.join(', ')}`]);
  if (verdict.filter !== null) rows.push(['filter', JSON.stringify(verdict.filter)]);
  rows.push(...historyRows(verdict));
  return rows;
}

export function reportEvent(file: string, verdict: EventVerdict): Report {
  const { entry, origin, leaf, checkpoint, event, whole } = verdict;
  const receivedAt = new Date(entry.receivedAtMs).toISOString();
  const { kind, index, eventId } = entry;
  const rows: [string, string][] = [
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

export function reportRefusal(file: string, { reason, index, line, message }: EvidenceError): Report {
  const where = index !== undefined ? ` at index ${index}` : line !== undefined ? ` on line ${line}` : '';
  const rows: [string, string][] = [
    ['reason', reason + where],
    ['because', message],
  ];
  return {
    text: lines(`NOT verified  ${file}`, rows),
    json: { verified: false, reason, index: index ?? null, line: line ?? null, message },
  };
}

function receivedBetween({ firstReceivedAtMs, lastReceivedAtMs }: BundleVerdict): string {
  if (firstReceivedAtMs === undefined || lastReceivedAtMs === undefined) return '–';
  return `${new Date(firstReceivedAtMs).toISOString()} to ${new Date(lastReceivedAtMs).toISOString()}`;
}

const READING_ORDER = ['timestamp', 'actor', 'action', 'resource', 'classification', 'outcome'];

/** Units come by tag, which is no order for people. */
function inReadingOrder(event: Readonly<Record<string, unknown>>): Record<string, unknown> {
  const fields = [...READING_ORDER.filter((field) => field in event), ...Object.keys(event).sort()];
  return Object.fromEntries(fields.map((field) => [field, event[field]]));
}

function checkpointRows({ size, root, cosignedBy }: BundleVerdict['checkpoint']): [string, string][] {
  const rows: [string, string][] = [['checkpoint', `size ${size}, root ${root}`]];
  if (cosignedBy.length > 0) rows.push(['witnesses', cosignedBy.join(', ')]);
  return rows;
}

/** How it stands to the checkpoint that was given by --since, if there was one. */
function historyRows({ extends: older, precedes: newer }: BundleVerdict | EventVerdict): [string, string][] {
  if (older !== undefined) return [['history', `extends the checkpoint of size ${older}`]];
  return newer === undefined ? [] : [['history', `is the beginning of the checkpoint of size ${newer}`]];
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

export function lines(title: string, rows: readonly (readonly [string, string])[]): string {
  return [
    printable(title),
    ...rows.map(([name, value]) => `  ${name.padEnd(10)} ${printable(value)}`),
    '',
  ].join('\n');
}
