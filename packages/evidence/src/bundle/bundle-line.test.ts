import assert from 'node:assert/strict';
import { before, describe, it } from 'node:test';
import { toBase64 } from '../bytes.ts';
import { KINDS } from '../event/entry.ts';
import { closeUnits, showRoots, withholdContent, listsOf } from '../event/show-event.ts';
import { parseNote } from '../note/note.ts';
import { refusal } from '../testing/refusal.ts';
import { sampleEvent, SampleLog } from '../testing/sample-log.ts';
import {
  type BundleHeader,
  type BundleTrailer,
  type EntryLine,
  formatHeader,
  formatTrailer,
  hashesFrom,
  parseEntryLine,
  parseHeader,
  parseNoticeLine,
  parseTrailer,
} from './bundle-line.ts';
import { formatEntryLine, formatNoticeLine } from './bundle-writer.ts';

let log: SampleLog;
let checkpoint: string;
let previousCheckpoint: string;
const hash = new Uint8Array(32).fill(7);
const hashText = toBase64(hash);
const malformed = refusal('MALFORMED');

before(async () => {
  log = await SampleLog.create();
  for (let n = 0; n < 3; n++) log.append(sampleEvent(n));
  log.notice(KINDS.legalHold, { holdId: '01KE0000000000000000000001', act: 'Placed', policyId: null });
  checkpoint = await log.checkpoint();
  previousCheckpoint = parseNote(checkpoint).text;
});

describe('a header', () => {
  const header: BundleHeader = { origin: 'o', size: 9, from: 2, to: 5, filter: null, complete: true };

  it('is read as it is written', () => {
    const filters = [null, 'x', { b: [1], 'a\u2028': { __proto__: null, constructor: 1 } }, false, 0];
    for (const filter of filters) {
      for (const complete of [true, false]) {
        const changed = { ...header, filter, complete };
        const text = formatHeader(changed);
        assert.equal(formatHeader(parseHeader(text)), text);
        assert.equal(parseHeader(text).complete, complete);
      }
    }
    assert.deepEqual(parseHeader(formatHeader(header)), header);
    const epoch = { ...header, from: 0, previousCheckpoint };
    assert.deepEqual(parseHeader(formatHeader(epoch)), epoch);
    for (const [from, to, size] of [
      [0, 0, 0],
      [3, 3, 9],
      [0, 9, 9],
      [9, 9, 9],
    ] as const) {
      assert.equal(parseHeader(formatHeader({ ...header, from, to, size })).to, to);
    }
  });

  it('has the filter that it was written with, independently of lines read before', () => {
    const text = formatHeader({ ...header, filter: { ok: 1, 'ok"': 1 } });
    JSON.parse(text.replace('ok\\"', 'ok\\\\'));
    assert.equal(formatHeader(parseHeader(text)), text);
  });

  it('is refused when a member is missing or of another kind', () => {
    const text = formatHeader(header);
    const changes: [from: string, to: string][] = [
      ['audit-bundle/1', 'audit-bundle/2'],
      ['"origin":"o"', '"origin":""'],
      ['"origin":"o"', '"origin":7'],
      ['"size":9', '"size":"9"'],
      ['"size":9', '"size":9.5'],
      ['"size":9', '"size":4'],
      ['"from":2', '"from":-1'],
      ['"from":2', '"from":null'],
      ['"from":2', '"from":6'],
      ['"to":5', '"to":"5"'],
      ['"to":5', '"to":10'],
      ['"to":5', '"to":5.5'],
      [',"filter":null', ''],
      ['"complete":true', '"complete":"true"'],
      ['"complete":true', '"complete":1'],
    ];
    for (const [from, to] of changes) {
      assert.ok(text.includes(from), from);
      assert.throws(() => parseHeader(text.replace(from, to)), malformed, to);
    }
    for (const other of ['null', '[]', '"x"', '7', '{}', '[{}]', '{']) {
      assert.throws(() => parseHeader(other), malformed, other);
    }
  });

  it('is refused in any other form', () => {
    const text = formatHeader({ ...header, filter: { a: 1, b: 'é' } });
    parseHeader(text);
    for (const other of [
      ` ${text}`,
      `${text} `,
      text.replace(',', ', '),
      text.replace('{"a":1,"b":"é"}', '{"b":"é","a":1}'),
      text.replace('é', '\\u00e9'),
      text.replace('"size":9,"from":2', '"from":2,"size":9'),
      text.replace('"size":9', '"size":9.0'),
      text.replace('"size":9', '"size":9,"size":9'),
      `${text.slice(0, -1)},"more":1}`,
    ]) {
      assert.notEqual(other, text);
      assert.throws(() => parseHeader(other), malformed, other);
    }
  });

  it('names a checkpoint before only as a text of three lines, and only where the range begins at 0', () => {
    const epoch = { ...header, from: 0 };
    for (const wrong of [
      '',
      'x',
      previousCheckpoint.slice(0, -1),
      `${previousCheckpoint}more\n`,
      checkpoint,
    ]) {
      assert.throws(() => parseHeader(formatHeader({ ...epoch, previousCheckpoint: wrong })), malformed);
    }
    assert.throws(() => parseHeader(formatHeader({ ...epoch, from: 1, previousCheckpoint })), malformed);
    const text = formatHeader(epoch);
    assert.throws(() => parseHeader(`${text.slice(0, -1)},"previousCheckpoint":7}`), malformed);
  });
});

describe('an entry line', () => {
  const sameLine = (line: EntryLine): void => {
    const text = formatEntryLine(line);
    const read = parseEntryLine(text);
    assert.deepEqual(read.deleted, line.deleted);
    assert.deepEqual(read.inclusion, line.inclusion);
    assert.deepEqual(read.entry, line.entry);
    assert.equal(formatEntryLine(read), text);
  };

  it('is read as it is written, with anything it shows', () => {
    const { entry, shown } = log.entries[1]!;
    const isNote = (path: string): boolean => path === '/payload/note' || path === '/action';
    const closed = closeUnits(shown, isNote);
    for (const form of [
      shown,
      closed,
      withholdContent(shown),
      showRoots(shown),
      closeUnits(shown, () => true),
    ]) {
      sameLine({ entry, shown: form });
      sameLine({ entry, shown: form, inclusion: [] });
      sameLine({ entry, shown: form, inclusion: [hash, new Uint8Array(32)] });
    }
    sameLine({ entry, shown: showRoots(shown), deleted: true });
    sameLine({ entry, shown: showRoots(shown), deleted: true, inclusion: [hash] });
    const names = listsOf(closed).closed.map(([tag]) => tag);
    assert.equal(names.length, 2);
    sameLine({ entry, shown: closed, deleted: names });
    sameLine({ entry, shown: closed, deleted: names.slice(1), inclusion: [hash] });
    for (const wrong of [
      [],
      names.toReversed(),
      [names[0]!, names[0]!],
      [...names, hashText],
      [hashText],
      ['x'],
    ]) {
      const text = formatEntryLine({ entry, shown: closed, deleted: wrong });
      assert.throws(() => parseEntryLine(text), malformed, JSON.stringify(wrong));
    }
  });

  it('names what is deleted in the order in which it stands', () => {
    const { entry, shown } = log.entries[1]!;
    const closed = closeUnits(shown, (path) => path.startsWith('/payload/'));
    const names = listsOf(closed).closed.map(([tag]) => tag);
    assert.equal(names.length, 3);
    const [a, b, c] = names as [string, string, string];
    sameLine({ entry, shown: closed, deleted: [a, c] });
    for (const deleted of [
      [a, c, b],
      [c, b, a],
      [b, a, c],
      [b, a],
    ]) {
      const text = formatEntryLine({ entry, shown: closed, deleted });
      assert.throws(() => parseEntryLine(text), malformed, JSON.stringify(deleted));
    }
  });

  it('says that all is deleted only where nothing is shown', () => {
    const { entry, shown } = log.entries[1]!;
    for (const form of [shown, withholdContent(shown), closeUnits(shown, () => true)]) {
      assert.throws(() => parseEntryLine(formatEntryLine({ entry, shown: form, deleted: true })), malformed);
    }
  });

  it('is refused with anything left out, moved or added', () => {
    const { entry, shown } = log.entries[1]!;
    const closed = closeUnits(shown, (path) => path === '/action');
    const rooted: EntryLine = { entry, shown: withholdContent(closed), inclusion: [hash] };
    const text = formatEntryLine(rooted);
    parseEntryLine(text);
    for (const other of [
      `${text} `,
      `${text}}`,
      text.slice(0, -1),
      text.replace(',"i":', ',"i": '),
      text.replace(/,"i":.*\]/, ' '),
      text.replace('"g":[null,', '"g":[null,null,'),
      text.replace('"g":[null,', '"g":[null'),
      text.replace(/"g":\[null,"[^"]*"\]/, '"g":[null]'),
      text.replace('{"e":"', '{"e":"AAAA'),
      text.replace(`["${hashText}"]`, `["${hashText.slice(0, -4)}"]`),
      text.replace(`["${hashText}"]`, '["AAAA"]'),
      text.replace('"o":[[', '"o":['),
      text.replace(']],"c"', '],"c"'),
      text.replace('"c":[[', '"c":[[]'),
      text.replace(',"i":', ',"d":[],"i":'),
      text.replace(',"i":', ',"d":null,"i":'),
      text.replace(',"i":', ',"i":[],"i":'),
    ]) {
      assert.notEqual(other, text);
      assert.throws(() => parseEntryLine(other), malformed, other);
    }
  });
});

describe('a notice line', () => {
  it('is read as it is written, and is refused in any other form', () => {
    const { entry, shown } = log.entries[3]!;
    const text = formatNoticeLine({ entry, shown, inclusion: [hash, hash] });
    const read = parseNoticeLine(text);
    assert.deepEqual([read.entry, read.inclusion], [entry, [hash, hash]]);
    assert.equal(formatNoticeLine(read), text);
    const unproven = formatNoticeLine({ entry, shown });
    assert.ok(unproven.endsWith(',"i":[]}'));
    assert.deepEqual(parseNoticeLine(unproven).inclusion, []);
    for (const other of [
      `${text} `,
      `${text}}`,
      text.slice(0, -1),
      text.replace('{"k":', '{"e":'),
      text.replace(',"o":', ',"p":'),
      text.replace(',"i":', ',"j":'),
      text.replace(/,"i":.*$/, '}'),
      text.replace(',"i":', ',"c":[],"i":'),
    ]) {
      assert.notEqual(other, text);
      assert.throws(() => parseNoticeLine(other), malformed, other);
    }
  });
});

describe('a trailer', () => {
  it('is read as it is written, and is refused in any other form', () => {
    const trailer: BundleTrailer = { entries: 3, proof: [hash], checkpoint, sha256: 'ab' };
    const text = formatTrailer(trailer);
    assert.deepEqual(parseTrailer(text), trailer);
    assert.equal(parseTrailer(formatTrailer({ ...trailer, entries: 0 })).entries, 0);
    for (const other of [
      ` ${text}`,
      text.replace('"entries":3', '"entries":-3'),
      text.replace('"entries":3', '"entries":3.5'),
      text.replace('"entries":3', '"entries":"3"'),
      text.replace('"entries":3', '"entries":3e0'),
      text.replace('"proof":[', '"proof":[7,'),
      text.replace('"proof":[', '"proof":["AAAA",'),
      text.replace(`["${hashText}"]`, '{}'),
      text.replace('"sha256":"ab"', '"sha256":7'),
      text.replace('"sha256":"ab"', '"sha256":"ab","sha256":"ab"'),
      text.replace(/"checkpoint":"[^"]*"/, '"checkpoint":null'),
      `${text.slice(0, -1)},"more":1}`,
      'null',
      '[]',
      '7',
    ]) {
      assert.notEqual(other, text);
      assert.throws(() => parseTrailer(other), malformed, other);
    }
  });
});

describe('hashes', () => {
  it('are a list of texts of 32 bytes each', () => {
    assert.deepEqual(hashesFrom([]), []);
    assert.deepEqual(hashesFrom([hashText, hashText]), [hash, hash]);
    for (const wrong of [
      undefined,
      null,
      hashText,
      {},
      [7],
      [hashText, null],
      ['AAAA'],
      [`AAAA${hashText}`],
    ]) {
      assert.throws(() => hashesFrom(wrong), malformed);
    }
  });
});
