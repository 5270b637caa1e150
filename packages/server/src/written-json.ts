// Objects that go out as the JSON text in which they are stored: neither parsed nor stringified on the thread that
// answers everybody, which would take it a second for a page of large ones. An answer is stringified with a mark in
// place of each, and the texts are put where the marks are.

import { ok as assert } from 'node:assert/strict';
import { parseJson } from '@tallystick/evidence';

declare global {
  interface JSON {
    /** ECMAScript; the compiler does not know it yet. */
    rawJSON(text: string): object;
  }
}

/**
 * JSON.stringify writes no letter as an escape, and behind a quote every backslash begins an escape: no string that a
 * caller may have chosen holds this.
 */
const MARK = '"\\u0041"';
const MARKED = JSON.rawJSON(MARK);

/** Of the value that is being written, in order; undefined outside of writeJson. */
let written: string[] | undefined;

class WrittenJson {
  readonly #text: string;

  constructor(text: string) {
    this.#text = text;
  }

  toJSON(): unknown {
    if (written === undefined) return parseJson(this.#text);
    written.push(this.#text);
    return MARKED;
  }
}

/** Stands for the object of this text wherever nothing is done with it but to write it. */
export function asWritten(text: string): Record<string, unknown> {
  // Who looks into it finds no member; who writes it writes them all.
  return new WrittenJson(text) as object as Record<string, unknown>;
}

/** The object that stands for itself or for its text, to look into. */
export function readWritten(value: Record<string, unknown>): Record<string, unknown> {
  return value instanceof WrittenJson ? (value.toJSON() as Record<string, unknown>) : value;
}

/** As JSON.stringify has it, but each object that is there as its text is that text. */
export function writeJson(value: unknown): string {
  const texts: string[] = [];
  written = texts;
  let marked: string;
  try {
    marked = JSON.stringify(value);
  } finally {
    written = undefined;
  }
  if (texts.length === 0) return marked;
  const between = marked.split(MARK);
  assert(between.length === texts.length + 1, 'there is one mark for each text');
  return between.flatMap((piece, i) => (i === 0 ? [piece] : [texts[i - 1]!, piece])).join('');
}
