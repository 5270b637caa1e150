// Compares a row of exported data with the line of its event in the bundle, field by field. What the line shows open must stand in the
// row as it is hashed, and the row must have nothing that the line does not show, but what it says itself is withheld in part.

import { toBase64, toHex } from '../bytes.ts';
import type { EntryLine } from '../bundle/bundle-line.ts';
import { type Entry, isNotice } from '../event/entry.ts';
import { unitsOf } from '../event/show-event.ts';
import { isOpen, type ShownGroup, type ShownUnit } from '../event/shown-event.ts';
import { KNOWN_PATHS, tagOf } from '../event/units.ts';
import { canonicalJson } from '../json/canonical-json.ts';
import { parseJson } from '../json/parse-json.ts';
import { leafHash } from '../tree/tree.ts';
import { type ExportRow, rowFault } from './export-row.ts';
import type { Manifest } from './manifest.ts';

/** Stands in place of a single withheld value. */
const REDACTED = '[REDACTED]';

export interface ProvenLine {
  readonly line: EntryLine;
  readonly entry: Entry;
}

/** Whether all that the row shows of the event is proven. Throws ROW_MISMATCH where the two differ. */
export function compareRow(row: ExportRow, proven: ProvenLine, manifest: Manifest): boolean {
  requirePlace(row, proven, manifest);
  requireFacts(row, proven);
  const parts = (['context', 'payload'] as const).map((field) => requireContent(row, field, proven));
  return parts.every((isProven) => isProven);
}

/** What the entry itself says. */
function requirePlace(row: ExportRow, { line, entry }: ProvenLine, { tenantId, range }: Manifest): void {
  const expected: readonly (readonly [string, string])[] = [
    ['eventId', entry.eventId],
    ['sequence', String(range.firstIndex + entry.index + 1)],
    ['tenantId', tenantId],
    ['kind', isNotice(entry.kind) ? 'Notice' : 'Event'],
    ['receivedAt', new Date(entry.receivedAtMs).toISOString()],
    ['integrity.leafIndex', String(entry.index)],
    ['integrity.leafHash', toHex(leafHash(line.entry))],
    ['integrity.previousHash', toHex(entry.previous)],
  ];
  for (const [path, value] of expected)
    if (row.fields.get(path) !== value) throw differs(row, entry, path, row.fields.get(path), value);
}

function requireFacts(row: ExportRow, { line, entry }: ProvenLine): void {
  const units = unitsByTag(line.shown[0]);
  if (units === undefined)
    throw rowFault(row.number, 'its line in the bundle shows nothing of it', entry.index);
  for (const pointer of KNOWN_PATHS) {
    const path = pointer.slice(1).replace('/', '.');
    const shown = row.fields.get(path);
    const unit = units.get(toBase64(tagOf(pointer).bytes));
    if (unit === undefined || isOpen(unit)) {
      const proven = unit === undefined ? undefined : String(parseJson(unit.value));
      const expected = proven === '' && row.isEmptyAbsent ? undefined : proven;
      if (shown !== expected) throw differs(row, entry, path, shown, expected);
    } else if (shown !== undefined && shown !== REDACTED)
      throw rowFault(row.number, `it shows ${path}, which its line in the bundle withholds`, entry.index);
  }
}

/** Whether all of context or payload that the row shows is proven. */
function requireContent(row: ExportRow, field: 'context' | 'payload', { line, entry }: ProvenLine): boolean {
  const value = row[field];
  const inRow = value === undefined ? [] : unitsOf({ [field]: value });
  const isRedacted = row.redacted.some((path) => path.startsWith(field) || path === '');
  const isEmpty = value === undefined || canonicalJson(value) === '{}';
  const units = unitsByTag(line.shown[1]);
  if (units === undefined) {
    if (isEmpty) return true;
    // The line has both by one root where all of the other is withheld.
    if (row.redacted.length > 0) return false;
    throw rowFault(row.number, `it shows ${field}, which its line in the bundle withholds`, entry.index);
  }
  let isProven = true;
  const seen = new Set<string>();
  for (const { path, value: shown } of inRow) {
    const tag = toBase64(tagOf(path).bytes);
    seen.add(tag);
    const unit = units.get(tag);
    if (unit === undefined) {
      if (isEmpty && isRedacted) continue;
      throw differs(row, entry, path, shown, undefined);
    }
    if (isOpen(unit)) {
      if (unit.value !== shown) throw differs(row, entry, path, shown, unit.value);
    } else if (!isRedacted)
      throw rowFault(row.number, `it shows ${path}, which its line in the bundle withholds`, entry.index);
    else if (shown !== JSON.stringify(REDACTED)) isProven = false;
  }
  for (const [tag, unit] of units) {
    if (!isOpen(unit) || seen.has(tag)) continue;
    if (unit.path === `/${field}` || unit.path.startsWith(`/${field}/`))
      throw differs(row, entry, unit.path, undefined, unit.value);
  }
  return isProven;
}

/** Undefined for a group that is shown by its root alone. */
function unitsByTag(group: ShownGroup): Map<string, ShownUnit> | undefined {
  if (!('units' in group)) return undefined;
  return new Map(group.units.map((unit) => [toBase64(unit.tag.bytes), unit]));
}

const SHOWN_MAX = 200;

function differs(
  { number }: ExportRow,
  { index, eventId }: Entry,
  path: string,
  inRow: string | undefined,
  proven: string | undefined,
) {
  const shown = (value: string | undefined) =>
    value === undefined ? 'nothing' : JSON.stringify(value.slice(0, SHOWN_MAX));
  const message = `${path} is ${shown(inRow)}; the bundle proves ${shown(proven)} of event ${eventId}`;
  return rowFault(number, message, index);
}
