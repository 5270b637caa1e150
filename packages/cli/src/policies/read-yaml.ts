// Reads YAML 1.2 (and so JSON) as JSON values, one for each document, and knows the line of each value. The schema is the
// core one: `yes` is a string. Refused, with the line: duplicate keys, tags, keys that are not strings, and numbers that are
// not exact in JSON. The cost is linear in the size of the text, however hostile it is: nesting is limited before a document
// is built, and the values that aliases stand for are counted, by number and by length.

import { LIMITS } from '@tallystick/contract';
import { scanJson } from '@tallystick/evidence';
import {
  Composer,
  type CST,
  type DocumentOptions,
  isAlias,
  isMap,
  isScalar,
  isSeq,
  Lexer,
  LineCounter,
  Parser,
  type ParseOptions,
  type Scalar,
  type SchemaOptions,
  type YAMLMap,
} from 'yaml';

export interface ReadDocument {
  readonly value: unknown;
  /** The line of the value at a path such as `rules[2].effect`, or of the nearest value around it. From 1. */
  readonly lineOf: (path: string) => number;
}

/** The message does not contain the line. */
export class NotReadable extends Error {
  readonly line: number;

  constructor(line: number, message: string) {
    super(message);
    this.line = line;
  }
}

/** Far deeper than any policy: each level is one or two of them. */
const OPEN_TOKENS_MAX = 200;
const VALUES_MAX = LIMITS.requestValuesMax;
/** Of what aliases stand for: each is sent as often as it is named. */
const ALIASED_LENGTH_MAX = LIMITS.requestBytesMax;
/** Lines of longer paths are not kept: one long key would stand in the path of each value below it. */
const PATH_LENGTH_MAX = 1000;

const OPTIONS: ParseOptions & DocumentOptions & SchemaOptions = {
  version: '1.2',
  // Holds for documents with a %YAML directive, too.
  schema: 'core',
  merge: false,
  resolveKnownTags: false,
  stringKeys: true,
  intAsBigInt: true,
  prettyErrors: false,
  logLevel: 'error',
  // Done here with a set: the parser compares each key with all keys before it.
  uniqueKeys: false,
};

/** Skips empty documents. Throws NotReadable. */
export function readYaml(text: string): ReadDocument[] {
  const lines = new LineCounter();
  const lineAt = (offset: number) => lines.linePos(offset).line;
  const read: ReadDocument[] = [];
  for (const document of new Composer(OPTIONS).compose(tokensOf(text, lines), false, text.length)) {
    const [fault] = [...document.errors, ...document.warnings];
    if (fault !== undefined) throw new NotReadable(lineAt(fault.pos[0]), oneSentence(fault.message));
    if (isScalar(document.contents) && document.contents.value === null) continue;
    const reading: Reading = { lineAt, lines: new Map(), anchors: new Map(), values: 0, aliased: 0 };
    const value = valueOf(document.contents, '', reading);
    read.push({ value, lineOf: (path) => nearestLine(reading.lines, path) });
  }
  return read;
}

/** The composer gets a document when its last token is read, and recurses into each level: limit the depth before that. */
function* tokensOf(text: string, lines: LineCounter): Generator<CST.Token> {
  const parser = new Parser(lines.addNewLine);
  lines.addNewLine(0);
  for (const lexeme of new Lexer().lex(text)) {
    yield* parser.next(lexeme);
    if (parser.stack.length > OPEN_TOKENS_MAX)
      throw new NotReadable(lines.linePos(parser.offset).line, 'nested too deeply');
  }
  yield* parser.end();
}

interface Reading {
  readonly lineAt: (offset: number) => number;
  /** By path. */
  readonly lines: Map<string, number>;
  /** The value of each anchor, how many values are in it, and how long it is written. Set at the end of the value, so that none contains itself. */
  readonly anchors: Map<string, Anchored>;
  /** How many were read so far, including those that aliases stand for. */
  values: number;
  /** The length of what aliases stood for so far. */
  aliased: number;
}

interface Anchored {
  readonly value: unknown;
  readonly values: number;
  readonly length: number;
}

function valueOf(node: unknown, path: string, reading: Reading, offset = 0): unknown {
  const at = rangeOf(node)?.[0] ?? offset;
  const line = reading.lineAt(at);
  keepLine(path, line, reading);
  const before = { values: reading.values, aliased: reading.aliased };
  count(1, line, reading);
  if (isAlias(node)) {
    const known = reading.anchors.get(node.source);
    if (known === undefined)
      throw new NotReadable(line, `unknown alias *${node.source}: there is no such anchor before it`);
    count(known.values, line, reading);
    reading.aliased += known.length;
    if (reading.aliased > ALIASED_LENGTH_MAX)
      throw new NotReadable(line, `aliases stand for over ${ALIASED_LENGTH_MAX} characters`);
    return known.value;
  }
  const value = contentOf(node, path, reading, at);
  const anchor = (isScalar(node) || isMap(node) || isSeq(node)) && node.anchor;
  if (anchor) {
    const written = (rangeOf(node)?.[1] ?? at) - at;
    const length = written + reading.aliased - before.aliased;
    reading.anchors.set(anchor, { value, values: reading.values - before.values, length });
  }
  return value;
}

function contentOf(node: unknown, path: string, reading: Reading, at: number): unknown {
  if (isMap(node)) return membersIn(node, path, reading, at);
  if (isSeq(node)) return node.items.map((item, i) => valueOf(item, `${path}[${i}]`, reading, at));
  return isScalar(node) ? scalarOf(node, reading.lineAt(at)) : null;
}

function membersIn({ items }: YAMLMap, path: string, reading: Reading, at: number): Record<string, unknown> {
  const members = new Map<string, unknown>();
  for (const { key, value } of items) {
    const start = rangeOf(key)?.[0] ?? at;
    const line = reading.lineAt(start);
    if (!isScalar(key) || typeof key.value !== 'string')
      throw new NotReadable(line, 'a key must be a string');
    const name = key.value;
    if (members.has(name)) throw new NotReadable(line, `duplicate key ${shown(name)}`);
    const inside = path === '' ? name : `${path}.${name}`;
    members.set(name, valueOf(value, inside, reading, start));
    // Point to the key: the value may begin on a later line.
    keepLine(inside, line, reading);
  }
  // A key called __proto__ stays an ordinary key.
  return Object.fromEntries(members);
}

function scalarOf({ value, source }: Scalar, line: number): unknown {
  if (typeof value === 'string' || typeof value === 'boolean' || value === null) return value;
  const number = Number(value);
  if (Number.isFinite(number) && (typeof value === 'bigint' ? isExact(number) : isExactIn(source ?? '')))
    return number;
  throw new NotReadable(line, `${shown(source ?? '')} is not exact as a JSON number`);
}

function isExact(integer: number): boolean {
  return Number.isSafeInteger(integer);
}

/** The service's rule for numbers. Forms that only YAML has, such as .5, are not JSON and pass. */
function isExactIn(source: string): boolean {
  const { syntax, violations } = scanJson(new TextEncoder().encode(source));
  return syntax !== undefined || violations.length === 0;
}

function keepLine(path: string, line: number, { lines }: Reading): void {
  if (path.length <= PATH_LENGTH_MAX) lines.set(path, line);
}

function count(values: number, line: number, reading: Reading): void {
  reading.values += values;
  if (reading.values > VALUES_MAX) throw new NotReadable(line, `over ${VALUES_MAX} values, aliases included`);
}

function rangeOf(node: unknown): readonly number[] | undefined {
  return isAlias(node) || isScalar(node) || isMap(node) || isSeq(node)
    ? (node.range ?? undefined)
    : undefined;
}

function nearestLine(lines: ReadonlyMap<string, number>, path: string): number {
  const known = lines.get(path);
  if (known !== undefined) return known;
  const around = path.replace(/(?:^|\.)[^.[\]]*$|\[[^[\]]*\]$/, '');
  return nearestLine(lines, around === path ? '' : around);
}

function shown(text: string): string {
  return JSON.stringify(text.slice(0, 80));
}

function oneSentence(message: string): string {
  return message.replaceAll(/\s+/g, ' ').trim();
}
