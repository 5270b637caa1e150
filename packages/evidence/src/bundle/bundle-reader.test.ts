import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { textOf, toHex, utf8 } from '../bytes.ts';
import { EvidenceError } from '../errors.ts';
import { Sha256Stream, sha256 } from '../hash/sha256.ts';
import { LINE_BYTES_MAX } from './bundle-line.ts';
import { BundleReader } from './bundle-reader.ts';

const BODY = '{"header":1}\n{"e":1}\n\n{"e":22,"entries":1}\n';
const TRAILER = '{"entries":2}\n';
const SUM = toHex(sha256(utf8(BODY)));

/** Pushes pieces from one buffer that is used again and again, as a reader of a file may do. */
function read(pieces: readonly string[]): { lines: string[]; reader: BundleReader } {
  const reader = new BundleReader(new Sha256Stream());
  const lines: string[] = [];
  for (const piece of pieces) {
    const chunk = utf8(piece);
    for (const line of reader.push(chunk)) lines.push(textOf(line));
    chunk.fill(0);
  }
  return { lines, reader };
}

const faultOf = (run: () => unknown): EvidenceError => {
  try {
    run();
  } catch (error) {
    assert.ok(error instanceof EvidenceError, String(error));
    return error;
  }
  assert.fail('nothing was thrown');
};

describe('a bundle reader', () => {
  it('gives the same lines and the checksum of all before the trailer, wherever the file is cut', () => {
    const text = BODY + TRAILER;
    for (let first = 0; first <= text.length; first++) {
      for (let second = first; second <= text.length; second++) {
        const { lines, reader } = read([text.slice(0, first), text.slice(first, second), text.slice(second)]);
        assert.deepEqual(lines, ['{"header":1}', '{"e":1}', '', '{"e":22,"entries":1}', '{"entries":2}']);
        assert.equal(reader.end(), SUM, `${first} ${second}`);
        assert.equal(reader.lines, 5);
      }
    }
    assert.equal(read([...text]).reader.end(), SUM);
  });

  it('counts the lines so far', () => {
    const reader = new BundleReader(new Sha256Stream());
    assert.equal(reader.lines, 0);
    assert.equal([...reader.push(utf8('a\nb\nc'))].length, 2);
    assert.equal(reader.lines, 2);
  });

  it('has not come to an end before the whole trailer, nor with anything behind it', () => {
    for (const text of ['', BODY, BODY + TRAILER.slice(0, -1), `${BODY}${TRAILER}x`, `${BODY}{"entries":`]) {
      assert.equal(faultOf(() => read([text]).reader.end()).reason, 'TRUNCATED');
      assert.equal(faultOf(() => read([...text]).reader.end()).reason, 'TRUNCATED');
    }
  });

  it('refuses a line after the trailer, by its number', () => {
    for (const after of ['\n', '{"e":1}\n', TRAILER]) {
      const fault = faultOf(() => read([BODY + TRAILER + after]));
      assert.deepEqual([fault.reason, fault.line], ['MALFORMED', 6]);
      assert.match(fault.message, /^line 6: /);
      assert.deepEqual(faultOf(() => read([BODY, TRAILER, after])).line, 6);
    }
  });

  it('takes a line as long as the limit and none that is longer, whole or in pieces', () => {
    const long = 'x'.repeat(LINE_BYTES_MAX);
    assert.equal(LINE_BYTES_MAX, 1_048_576);
    assert.equal(read([`a\n${long}\nb\n`]).lines[1], long);
    assert.equal(read(['a\n', long, '\n']).lines[1], long);
    assert.equal(read([`a\n${long.slice(1)}`, 'y', '\nb\n']).lines.length, 3);
    for (const pieces of [
      [`a\n${long}x\n`],
      [`a\n${long}`, 'x\n'],
      [`a\n${long}`, 'x'],
      [`a\n${long}x`],
      ['a\nx', long],
    ]) {
      const fault = faultOf(() => read(pieces));
      assert.deepEqual([fault.reason, fault.line], ['MALFORMED', 2]);
    }
  });

  it('measures each line by itself', () => {
    const half = 'x'.repeat(LINE_BYTES_MAX / 2 + 1);
    assert.equal(read([`${half}\n${half}`, `\n${half}`, '\n']).lines.length, 3);
  });
});
