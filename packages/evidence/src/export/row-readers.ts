// Reads the rows of exported data, in exactly the form in which exports write it: JSON with a row on each line, CSV, XML.

import { EvidenceError, malformed } from '../errors.ts';
import { textOf, fromBase64 } from '../bytes.ts';
import {
  type ExportRow,
  isObject,
  ROW_LENGTH_MAX,
  rowFault,
  rowOf,
  type RowReader,
  valueIn,
} from './export-row.ts';
import { contentCell, type ContentPath } from './content-columns.ts';
import type { Manifest } from './manifest.ts';

export function rowReaderOf({
  dataFormat,
  contentColumns,
}: Pick<Manifest, 'dataFormat' | 'contentColumns'>): RowReader {
  if (dataFormat === 'CSV') return new CsvRows(contentColumns);
  if (dataFormat === 'XML') return new XmlRows();
  return new JsonRows(dataFormat === 'JSON');
}

/** The pieces of a text between the places where a mark stands; the mark belongs to the piece before it. */
class Pieces {
  readonly #mark: string;
  #rest = '';

  constructor(mark: string) {
    this.#mark = mark;
  }

  get rest(): string {
    return this.#rest;
  }

  *push(text: string): Generator<string> {
    const searchFrom = Math.max(0, this.#rest.length - this.#mark.length + 1);
    const all = this.#rest + text;
    let start = 0;
    for (let at = all.indexOf(this.#mark, searchFrom); at !== -1; at = all.indexOf(this.#mark, start)) {
      const end = at + this.#mark.length;
      yield all.slice(start, end);
      start = end;
    }
    this.#rest = all.slice(start);
    if (this.#rest.length > ROW_LENGTH_MAX) throw malformed(`a row is over ${ROW_LENGTH_MAX} characters`);
  }
}

/** `[`, a row on each line with a comma behind all but the last, `]`; or the lines alone. */
class JsonRows implements RowReader {
  readonly #lines = new Pieces('\n');
  readonly #isArray: boolean;
  #state: 'Begin' | 'Rows' | 'LastRow' | 'End';
  #rows = 0;

  constructor(isArray: boolean) {
    this.#isArray = isArray;
    this.#state = isArray ? 'Begin' : 'Rows';
  }

  *push(text: string): Generator<ExportRow> {
    for (const piece of this.#lines.push(text)) {
      const line = piece.slice(0, -1);
      if (this.#state === 'Begin' && line === '[') this.#state = 'Rows';
      else if (this.#state === 'Rows') {
        // An array of nothing has an empty line between its brackets.
        if (this.#isArray && line === '' && this.#rows === 0) this.#state = 'LastRow';
        else yield this.#row(line);
      } else if (this.#state === 'LastRow' && line === ']') this.#state = 'End';
      else throw malformed(`the data is not in the form of an export behind row ${this.#rows}`);
    }
  }

  end(): void {
    const isWhole = this.#lines.rest === '' && this.#state === (this.#isArray ? 'End' : 'Rows');
    if (!isWhole) throw new EvidenceError('TRUNCATED', `the data ends behind row ${this.#rows}`);
  }

  #row(line: string): ExportRow {
    this.#rows++;
    const isLast = this.#isArray && !line.endsWith(',');
    if (isLast) this.#state = 'LastRow';
    const value = valueIn(this.#isArray && !isLast ? line.slice(0, -1) : line, this.#rows);
    if (isObject(value)) return rowOf(this.#rows, value);
    throw rowFault(this.#rows, 'it is no object');
  }
}

/** RFC 4180; a cell that begins with an apostrophe has one more than it had. */
class CsvRows implements RowReader {
  readonly #contentColumns: ReadonlyMap<string, ContentPath>;
  #rest = '';
  #columns: readonly string[] | undefined;
  #rows = 0;

  constructor(contentColumns: ReadonlyMap<string, ContentPath>) {
    this.#contentColumns = contentColumns;
  }

  *push(text: string): Generator<ExportRow> {
    const all = this.#rest + text;
    let start = 0;
    for (let next = recordAt(all, start); next !== undefined; next = recordAt(all, start)) {
      start = next.end;
      if (this.#columns !== undefined) yield this.#row(next.cells);
      else if (new Set(next.cells).size === next.cells.length) this.#columns = next.cells;
      else throw malformed('the data has two columns of one name');
    }
    this.#rest = all.slice(start);
    if (this.#rest.length > ROW_LENGTH_MAX) throw malformed(`a row is over ${ROW_LENGTH_MAX} characters`);
  }

  end(): void {
    if (this.#rest === '' && this.#columns !== undefined) return;
    throw new EvidenceError('TRUNCATED', `the data ends behind row ${this.#rows}`);
  }

  #row(cells: readonly string[]): ExportRow {
    this.#rows++;
    const columns = this.#columns!;
    if (cells.length !== columns.length)
      throw rowFault(this.#rows, `it has ${cells.length} cells for ${columns.length} columns`);
    const members: Record<string, unknown> = Object.create(null) as Record<string, unknown>;
    for (const [i, path] of columns.entries()) {
      const cell = cells[i]!;
      if (cell === '' || this.#contentColumns.has(path)) continue;
      members[path] = AS_JSON.has(path) ? valueIn(unmarked(cell), this.#rows) : unmarked(cell);
    }
    const row = rowOf(this.#rows, members, true);
    for (const [i, name] of columns.entries()) this.#requireContent(name, unmarked(cells[i]!), row);
    return row;
  }

  /** What a cell repeats of context or payload stands there as well, and that is compared with the bundle. */
  #requireContent(name: string, text: string, row: ExportRow): void {
    const path = this.#contentColumns.get(name);
    if (path === undefined) return;
    const expected = contentCell(row[path[0]], path);
    if (text === expected) return;
    const [shown, said] = [text, expected].map((each) => JSON.stringify(each.slice(0, SHOWN_MAX)));
    throw rowFault(row.number, `${name} is ${shown}; its ${path[0]} has ${said} there`);
  }
}

const SHOWN_MAX = 200;

function unmarked(cell: string): string {
  return cell.startsWith("'") ? cell.slice(1) : cell;
}

const AS_JSON: ReadonlySet<string> = new Set(['context', 'payload', 'redaction.fields']);

interface CsvRecord {
  readonly cells: string[];
  readonly end: number;
}

/** Undefined while the record is not whole. */
function recordAt(text: string, from: number): CsvRecord | undefined {
  const cells: string[] = [];
  for (let at = from; ; ) {
    const cell = text[at] === '"' ? quotedCell(text, at) : plainCell(text, at);
    if (cell === undefined) return undefined;
    cells.push(cell.text);
    if (text[cell.end] === ',') at = cell.end + 1;
    else if (text.startsWith('\r\n', cell.end)) return { cells, end: cell.end + 2 };
    else if (cell.end + 1 >= text.length) return undefined;
    else throw malformed('the data is no CSV of an export');
  }
}

function plainCell(text: string, from: number): { text: string; end: number } | undefined {
  PLAIN_CELL.lastIndex = from;
  const found = PLAIN_CELL.exec(text)![0];
  const end = from + found.length;
  return end === text.length ? undefined : { text: found, end };
}

const PLAIN_CELL = /[^",\r\n]*/y;

function quotedCell(text: string, from: number): { text: string; end: number } | undefined {
  for (let at = text.indexOf('"', from + 1); at !== -1; at = text.indexOf('"', at + 2)) {
    // The next character decides, and may not be there yet.
    if (at + 1 === text.length) return undefined;
    if (text[at + 1] === '"') continue;
    return { text: text.slice(from + 1, at).replaceAll('""', '"'), end: at + 1 };
  }
  return undefined;
}

const XML_BEGIN = '<?xml version="1.0" encoding="UTF-8"?>\n<events>\n';
const XML_END = '</events>\n';

/** An element for each row. */
class XmlRows implements RowReader {
  readonly #pieces = new Pieces('</event>\n');
  #isBegun = false;
  #rows = 0;

  *push(text: string): Generator<ExportRow> {
    for (const piece of this.#pieces.push(text)) {
      const whole = this.#isBegun ? piece : withoutBegin(piece);
      this.#isBegun = true;
      this.#rows++;
      const { value, end } = elementAt(whole, 0, 'event', this.#rows);
      if (end !== whole.length - 1 || !isObject(value)) throw rowFault(this.#rows, 'it is no event');
      yield rowOf(this.#rows, value);
    }
  }

  end(): void {
    const rest = this.#isBegun ? this.#pieces.rest : withoutBegin(this.#pieces.rest);
    if (rest !== XML_END) throw new EvidenceError('TRUNCATED', `the data ends behind row ${this.#rows}`);
  }
}

function withoutBegin(text: string): string {
  if (text.startsWith(XML_BEGIN)) return text.slice(XML_BEGIN.length);
  throw malformed('the data is no XML of an export');
}

const OPENING = /<([A-Za-z]+)( encoding="base64")?>/y;
const TEXT = /[^<]*/y;
const ENTITIES: Readonly<Record<string, string>> = { '&amp;': '&', '&lt;': '<', '&gt;': '>', '&#13;': '\r' };

/** The element at a place, which has this name if one is given. */
function elementAt(
  text: string,
  at: number,
  wanted: string | undefined,
  row: number,
): { readonly name: string; readonly value: unknown; readonly end: number } {
  OPENING.lastIndex = at;
  const opening = OPENING.exec(text);
  if (opening === null || (wanted ?? opening[1]) !== opening[1])
    throw rowFault(row, 'it is no XML of an export');
  const [tag, name = '', encoding] = opening;
  const closing = `</${name}>`;
  let next = at + tag.length;
  if (text[next] === '<' && !text.startsWith(closing, next)) {
    const members: Record<string, unknown> = Object.create(null) as Record<string, unknown>;
    const items: unknown[] = [];
    while (!text.startsWith(closing, next)) {
      const inner = elementAt(text, next, undefined, row);
      if (name === 'fields') items.push(inner.value);
      else if (inner.name in members) throw rowFault(row, `it has ${inner.name} twice`);
      else members[inner.name] = inner.value;
      next = inner.end;
    }
    return { name, value: name === 'fields' ? items : members, end: next + closing.length };
  }
  TEXT.lastIndex = next;
  const raw = TEXT.exec(text)![0];
  next += raw.length;
  if (!text.startsWith(closing, next)) throw rowFault(row, `${name} does not end`);
  const shown = encoding === undefined ? unescaped(raw, row) : textOf(fromBase64(raw));
  const value = name === 'context' || name === 'payload' ? valueIn(shown, row) : shown;
  return { name, value: name === 'fields' ? [] : value, end: next + closing.length };
}

function unescaped(text: string, row: number): string {
  return text.replace(/&[^;]{0,8};?/g, (entity) => {
    const character = ENTITIES[entity];
    if (character === undefined) throw rowFault(row, 'it has a reference that no export writes');
    return character;
  });
}
