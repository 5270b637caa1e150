// A verdict in words for people: rows of a name and what is to be said. The command line and the page that verifies exports say the same.

import type { EventVerdict } from '../bundle/event-proof.ts';
import type { BundleVerdict } from '../bundle/verify-bundle.ts';
import type { EvidenceError } from '../errors.ts';
import type { ExportVerdict } from './verify-export.ts';

export type VerdictRow = readonly [name: string, said: string];

export function exportVerdictRows({ manifest, ...verdict }: ExportVerdict): VerdictRow[] {
  const { rows, rowsUnproven, rowsInPart } = verdict;
  const { data, counts, requestedAt, exportId } = manifest;
  const said: VerdictRow[] = [
    ['export', `${exportId}, requested ${requestedAt}`],
    ['data', `${data.name}: ${rows} rows, each as the bundle proves its event`],
  ];
  if (rowsUnproven > 0)
    said.push(['unproven', `${rowsUnproven} rows of a log before a restore: signed, and in no bundle`]);
  if (rowsInPart > 0)
    said.push([
      'in part',
      `${rowsInPart} rows show a part of a value that is withheld: signed, and not proven`,
    ]);
  if (counts.withheld !== undefined) said.push(['left out', JSON.stringify(counts.withheld)]);
  return [...said, ...bundleVerdictRows(verdict)];
}

export function bundleVerdictRows(verdict: BundleVerdict): VerdictRow[] {
  const { from, to, entries, checkpoint } = verdict;
  const shown = [
    `${verdict.open} whole`,
    `${verdict.withheld} with something withheld`,
    `${verdict.deleted} with something deleted`,
  ];
  if (verdict.outsideFilter > 0) shown.push(`${verdict.outsideFilter} outside the filter`);
  const rows: VerdictRow[] = [
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

export function refusalRows({ reason, index, line, message }: EvidenceError): VerdictRow[] {
  const where = index !== undefined ? ` at index ${index}` : line !== undefined ? ` on line ${line}` : '';
  return [
    ['reason', reason + where],
    ['because', message],
  ];
}

export function checkpointRows({ size, root, cosignedBy }: BundleVerdict['checkpoint']): VerdictRow[] {
  const rows: VerdictRow[] = [['checkpoint', `size ${size}, root ${root}`]];
  if (cosignedBy.length > 0) rows.push(['witnesses', cosignedBy.join(', ')]);
  return rows;
}

/** How it stands to the checkpoint that was given by --since, if there was one. */
export function historyRows({ extends: older, precedes: newer }: BundleVerdict | EventVerdict): VerdictRow[] {
  if (older !== undefined) return [['history', `extends the checkpoint of size ${older}`]];
  return newer === undefined ? [] : [['history', `is the beginning of the checkpoint of size ${newer}`]];
}

function receivedBetween({ firstReceivedAtMs, lastReceivedAtMs }: BundleVerdict): string {
  if (firstReceivedAtMs === undefined || lastReceivedAtMs === undefined) return '–';
  return `${new Date(firstReceivedAtMs).toISOString()} to ${new Date(lastReceivedAtMs).toISOString()}`;
}
