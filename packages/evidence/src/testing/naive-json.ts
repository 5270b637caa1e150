// For tests: what scanJson must find, written to be obviously right instead of fast. Recursive, over strings,
// with decimals as BigInt; it shares nothing with the scanner but the form of a path.

import { isUtf8 } from 'node:buffer';

export type NaiveFaultKind = 'duplicate' | 'nul' | 'surrogate' | 'number' | 'depth';

export interface NaiveFault {
  path: string;
  kind: NaiveFaultKind;
}

/** Undefined when the bytes are no JSON text. */
export function naiveScan(bytes: Uint8Array, depthMax: number): NaiveFault[] | undefined {
  if (!isUtf8(bytes)) return undefined;
  const reader = new NaiveReader(Buffer.from(bytes).toString('utf8'), depthMax);
  try {
    reader.whole();
    return reader.found;
  } catch (error) {
    if (error instanceof SyntaxError) return undefined;
    throw error;
  }
}

class NaiveReader {
  readonly found: NaiveFault[] = [];
  readonly #depthMax: number;
  #rest: string;

  constructor(text: string, depthMax: number) {
    this.#rest = text;
    this.#depthMax = depthMax;
  }

  whole(): void {
    this.#value('', 0);
    this.#take(/^[ \t\r\n]*/);
    if (this.#rest !== '') throw new SyntaxError('more than one value');
  }

  #take(pattern: RegExp): string {
    const match = pattern.exec(this.#rest)?.[0];
    if (match === undefined) throw new SyntaxError(`no ${pattern.source}`);
    this.#rest = this.#rest.slice(match.length);
    return match;
  }

  #note(path: string, depth: number, kind: NaiveFaultKind, isSo: boolean): void {
    if (isSo && depth <= this.#depthMax) this.found.push({ path, kind });
  }

  #value(path: string, depth: number): void {
    this.#take(/^[ \t\r\n]*/);
    const first = this.#rest[0] ?? '';
    if (first === '{' || first === '[') this.#container(first, path, depth);
    else if (first === '"') this.#string((): string => path, depth);
    else if (/[-0-9]/.test(first)) {
      const literal = this.#take(/^-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][-+]?[0-9]+)?/);
      this.#note(path, depth, 'number', !isExact(literal));
    } else this.#take(/^(?:true|false|null)/);
  }

  #container(opening: '{' | '[', path: string, depth: number): void {
    this.#note(path, depth, 'depth', depth === this.#depthMax);
    const closing = opening === '{' ? '}' : ']';
    const keys: string[] = [];
    this.#rest = this.#rest.slice(1);
    this.#take(/^[ \t\r\n]*/);
    for (let index = 0; this.#rest[0] !== closing; index++) {
      if (index > 0) this.#take(/^,[ \t\r\n]*/);
      let inside = `${path}[${index}]`;
      if (opening === '{') {
        const key = this.#string((name) => (inside = join(path, name)), depth + 1);
        this.#note(inside, depth + 1, 'duplicate', keys.includes(key));
        keys.push(key);
        this.#take(/^[ \t\r\n]*:/);
      }
      this.#value(inside, depth + 1);
      this.#take(/^[ \t\r\n]*/);
      if (this.#rest === '') throw new SyntaxError('not closed');
      if (this.#rest[0] !== closing && this.#rest[0] !== ',') throw new SyntaxError('no comma');
    }
    this.#rest = this.#rest.slice(1);
  }

  #string(pathOf: (text: string) => string, depth: number): string {
    const plain = String.raw`[^"\\\u0000-\u001f]|\\["\\/bfnrt]|\\u[0-9a-fA-F]{4}`;
    const literal = this.#take(new RegExp(`^"(?:${plain})*"`));
    const text = literal
      .slice(1, -1)
      .replace(/\\(u....|.)/g, (_, escape: string) =>
        escape.length > 1
          ? String.fromCharCode(Number.parseInt(escape.slice(1), 16))
          : ('\b\f\n\r\t'['bfnrt'.indexOf(escape)] ?? escape),
      );
    const path = pathOf(text);
    this.#note(path, depth, 'nul', text.includes('\0'));
    this.#note(path, depth, 'surrogate', encodeURIComponentFails(text));
    return text;
  }
}

function join(path: string, key: string): string {
  if (!/^[a-z_$][\w$]*$/i.test(key)) return `${path}[${JSON.stringify(key)}]`;
  return path === '' ? key : `${path}.${key}`;
}

function encodeURIComponentFails(text: string): boolean {
  try {
    encodeURIComponent(text);
    return false;
  } catch {
    return true;
  }
}

function isExact(literal: string): boolean {
  if (/^-?[0-9]+$/.test(literal)) {
    const integer = BigInt(literal);
    return integer <= 2n ** 53n - 1n && integer >= 1n - 2n ** 53n;
  }
  const double = Number(literal);
  if (!Number.isFinite(double)) return false;
  if (double === 0) return !/[1-9]/.test(literal.split(/e/i)[0]!);
  const [a, b] = [fractionOf(literal), fractionOf(String(double))];
  return a.numerator * b.denominator === b.numerator * a.denominator;
}

function fractionOf(literal: string): { numerator: bigint; denominator: bigint } {
  const [, sign, whole, fraction = '', exponent = '0'] =
    /^(-?)([0-9]+)(?:\.([0-9]+))?(?:[eE]([-+]?[0-9]+))?$/.exec(literal)!;
  const scale = Number(exponent) - fraction.length;
  const digits = BigInt(`${sign}${whole}${fraction}`);
  return scale >= 0
    ? { numerator: digits * 10n ** BigInt(scale), denominator: 1n }
    : { numerator: digits, denominator: 10n ** BigInt(-scale) };
}
