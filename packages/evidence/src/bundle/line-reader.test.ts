import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import * as fc from 'fast-check';
import { toBase64, toHex } from '../bytes.ts';
import { EvidenceError } from '../errors.ts';
import { isCanonicalJson } from '../json/canonical-json.ts';
import { LineReader } from './line-reader.ts';

const SEED = 20260105;

/** What the reader makes of a text that should be one string and nothing else. */
function readString(text: string): string | undefined {
  try {
    const reader = new LineReader('text', text);
    const string = reader.string();
    reader.end();
    return string;
  } catch (error) {
    if (error instanceof EvidenceError && error.reason === 'MALFORMED') return undefined;
    throw error;
  }
}

/** The same by the engine: read, written again, compared. */
function naiveString(text: string): string | undefined {
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === 'string' && JSON.stringify(value) === text ? value : undefined;
  } catch {
    return undefined;
  }
}

describe('a string', () => {
  it(`is read if and only if the engine would write it so (seed ${SEED})`, () => {
    const pieces = ['"', '\\', '\\"', '\\\\', '\\n', '\\u0001', '\\u000A', '\\/', '\n', 'a', 'é', '😀'];
    const half = ['\ud800', '\\ud800', '\\uD800'];
    const soup = fc.string({ unit: fc.constantFrom(...pieces, ...half), maxLength: 6 });
    const written = fc.string({ unit: 'binary', maxLength: 8 }).map((text) => JSON.stringify(text));
    const nested = written.map((text) => JSON.stringify(text));
    const text = fc.oneof(
      soup.map((inside) => `"${inside}"`),
      soup,
      written,
      nested,
    );
    let read = 0;
    fc.assert(
      fc.property(text, (text) => {
        const string = readString(text);
        assert.equal(string, naiveString(text));
        if (string !== undefined) read++;
      }),
      { seed: SEED, numRuns: 20_000 },
    );
    assert.ok(read > 5000, `${read} strings read`);
  });

  it('of any one character is read if and only if the engine would write it so', () => {
    for (let code = 0; code <= 0xffff; code++) {
      const text = `"${String.fromCharCode(code)}"`;
      if (readString(text) !== naiveString(text)) assert.fail(`character ${code}`);
    }
  });
});

describe('a path', () => {
  /** Reads the text as a path and nothing else. */
  const readPath = (text: string): string | undefined => {
    try {
      const reader = new LineReader('text', text);
      const path = reader.path();
      reader.end();
      return path;
    } catch (error) {
      if (error instanceof EvidenceError && error.reason === 'MALFORMED') return undefined;
      throw error;
    }
  };

  it(`is read as any string is, whatever stood in its place before (seed ${SEED})`, () => {
    const piece = fc.constantFrom('/a', '/ab', '/', 'a', '"', '\\', '\\"', '\\\\', 'é', '😀', '\ud800', '\n');
    const text = fc.string({ unit: piece, maxLength: 4 }).map((inside) => `"${inside}"`);
    let same = 0;
    fc.assert(
      fc.property(text, text, (before, text) => {
        readPath(before);
        assert.equal(readPath(text), naiveString(text));
        if (before === text) same++;
      }),
      { seed: SEED, numRuns: 20_000 },
    );
    assert.ok(same > 100, `${same} times the same`);
  });

  it('stands between quotes, also where the same one stood before', () => {
    for (const text of ['x/a"', '"/ax', '/a', '"/a', '/a"', '"/b"', '"/a"']) {
      assert.equal(readPath('"/a"'), '/a');
      assert.equal(readPath(text), naiveString(text), text);
    }
  });

  it('may be long', () => {
    const long = `"/payload/${'k'.repeat(1_000_000)}"`;
    assert.equal(readPath(long), naiveString(long));
  });
});

describe('the text of a plain string', () => {
  it('is read where it stands, and is its own RFC 8785 text', () => {
    for (const inner of ['', 'Success', 'späť €', 'a/b']) {
      const reader = new LineReader('text', JSON.stringify(JSON.stringify(inner)));
      const text = reader.plainStringText();
      reader.end();
      assert.equal(text, JSON.stringify(inner));
      assert.ok(isCanonicalJson(text));
    }
  });

  it('is not seen in anything else, and nothing is read then', () => {
    const others = ['1250.5', '"a', 'a"', '"a\\n"', '"a\\"b"', '["a"]', '"a""b"', '', '"', '""', '"\ud800"'];
    for (const value of others) {
      const text = JSON.stringify(value);
      const reader = new LineReader('text', text);
      if (value === '""') assert.equal(reader.plainStringText(), value);
      else {
        assert.equal(reader.plainStringText(), undefined, text);
        assert.equal(reader.string(), value);
      }
      reader.end();
    }
  });

  it('is not seen where one of the marks around it is another', () => {
    const text = '"\\"ab\\""';
    assert.equal(new LineReader('text', text).plainStringText(), '"ab"');
    const marks = [0, 1, 2, 5, 6, 7];
    const others = marks.flatMap((at) =>
      ['x', '"', '\\', '\n']
        .filter((mark) => mark !== text[at])
        .map((mark) => text.slice(0, at) + mark + text.slice(at + 1)),
    );
    for (const other of others) {
      const reader = new LineReader('text', other);
      assert.equal(reader.plainStringText(), undefined, other);
      reader.expect(other);
      reader.end();
    }
  });
});

describe('bytes', () => {
  it('are read in as many digits as they need, and in no other text', () => {
    for (const length of [0, 1, 2, 3, 16, 32, 116]) {
      const bytes = Uint8Array.from({ length }, (_, i) => 251 - i);
      const text = `"${toBase64(bytes)}"`;
      for (const around of ['', 'é']) {
        const reader = new LineReader('text', text + around);
        assert.equal(toHex(reader.bytes(length)), toHex(bytes));
        reader.expect(around);
        reader.end();
      }
      for (const other of [length + 1, length + 3, length - 1].filter((n) => n >= 0)) {
        assert.throws(
          () => new LineReader('text', text).bytes(other),
          EvidenceError,
          `${length} as ${other}`,
        );
      }
    }
    for (const text of ['"AA="', '"AA=="', 'AAA=', '"AAB="', '"AAA"', '"AA A"', '"AAé="']) {
      assert.throws(() => new LineReader('text', text).bytes(2), EvidenceError, text);
    }
  });
});

describe('what stands there', () => {
  it('is taken only where it stands whole, and nothing may be left', () => {
    const reader = new LineReader('text', '{"e":1');
    assert.equal(reader.take('{"d":'), false);
    reader.expect('{"e":');
    assert.equal(reader.take('1}'), false);
    assert.throws(() => reader.end(), /text: not in the one form that it has, at character 6$/);
    reader.expect('1');
    reader.end();
  });

  it('of a list has one comma between items and none elsewhere', () => {
    const listOf = (text: string): string[] => {
      const reader = new LineReader('text', text);
      const items = reader.list(() => reader.string());
      reader.end();
      return items;
    };
    assert.deepEqual(listOf('[]'), []);
    assert.deepEqual(listOf('["a","b"]'), ['a', 'b']);
    assert.deepEqual(listOf('["a\\"","\\n","\\\\","😀","b"]'), ['a"', '\n', '\\', '😀', 'b']);
    for (const text of ['["a",]', '[,"a"]', '["a""b"]', '["a", "b"]', '["a"', '"a"]', '[ ]', '']) {
      assert.throws(() => listOf(text), EvidenceError, text);
    }
  });
});
