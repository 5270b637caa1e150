// How a scan of JSON bytes stops: at the first byte that no JSON text could have there, with what was
// expected instead. A NotJson never leaves the scanner; scanJson turns it into its result.

export interface JsonSyntax {
  /** Of the first byte that does not fit, from 0; the length of the text where it ends too early. */
  offset: number;
  /** From 1; a line ends with a line feed. */
  line: number;
  /** From 1, in characters. */
  column: number;
  issue: string;
}

export class NotJson extends Error {
  readonly syntax: JsonSyntax;

  constructor(bytes: Uint8Array, offset: number, expected: string) {
    const issue = `expected ${expected}, found ${found(bytes, offset)}`;
    super(issue);
    this.syntax = { offset, ...lineAndColumn(bytes, offset), issue };
  }
}

/** The byte there, or -1 at the end: reading past a typed array's end makes V8 slow from then on. */
export function byteAt(bytes: Uint8Array, at: number): number {
  return at < bytes.length ? bytes[at]! : -1;
}

function found(bytes: Uint8Array, offset: number): string {
  const byte = byteAt(bytes, offset);
  if (byte < 0) return 'the end';
  if (byte === 0xef && bytes[offset + 1] === 0xbb && bytes[offset + 2] === 0xbf) return 'a byte order mark';
  if (byte > 0x20 && byte < 0x7f) return `'${String.fromCharCode(byte)}'`;
  return `byte 0x${byte.toString(16).padStart(2, '0')}`;
}

/** All bytes before the fault are valid UTF-8, so a character is a byte that continues no other. */
function lineAndColumn(bytes: Uint8Array, offset: number): { line: number; column: number } {
  let line = 1;
  let column = 1;
  for (let i = 0; i < offset; i++) {
    const byte = bytes[i]!;
    if (byte === 0x0a) {
      line++;
      column = 1;
    } else if ((byte & 0xc0) !== 0x80) {
      column++;
    }
  }
  return { line, column };
}
