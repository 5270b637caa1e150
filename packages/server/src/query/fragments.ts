// Pieces of a text around what was found in it: at most three, each about 120 characters long, cut between words
// where that is near, with … where text is left out and « » around what was found.

export const FRAGMENTS_MAX = 3;
export const FRAGMENT_LENGTH = 120;
/** How much text stands before the first thing found in a fragment. */
const LEAD_LENGTH = 40;
/** How far a cut moves to fall between words. */
const CUT_REACH = 16;

/** From `start` to before `end`, in UTF-16 units. */
export interface TextSpan {
  readonly start: number;
  readonly end: number;
}

export function fragmentsOf(text: string, found: readonly TextSpan[]): string[] {
  const fragments: string[] = [];
  let rest = merged(found).map(({ start, end }) => ({
    start,
    end: wholeCharacter(text, Math.min(end, start + FRAGMENT_LENGTH)),
  }));
  let doneEnd = 0;
  while (rest.length > 0 && fragments.length < FRAGMENTS_MAX) {
    const piece = pieceFrom(text, doneEnd, rest);
    const inside = rest.filter(({ end }) => end <= piece.end);
    fragments.push(marked(text, piece, inside));
    rest = rest.slice(inside.length);
    doneEnd = piece.end;
  }
  return fragments;
}

/** In order, those that overlap as one. */
function merged(spans: readonly TextSpan[]): TextSpan[] {
  const result: TextSpan[] = [];
  for (const span of spans.toSorted((a, b) => a.start - b.start)) {
    const last = result.at(-1);
    if (last === undefined || span.start >= last.end) result.push(span);
    else result.splice(-1, 1, { start: last.start, end: Math.max(last.end, span.end) });
  }
  return result;
}

/** Holds the first of `found` and ends inside none of them. */
function pieceFrom(text: string, from: number, found: readonly TextSpan[]): TextSpan {
  const first = found[0]!;
  const lead = Math.max(from, Math.min(first.start - LEAD_LENGTH, text.length - FRAGMENT_LENGTH));
  const start = text.length <= FRAGMENT_LENGTH ? from : cutAfterSpace(text, lead, first.start);
  const end = cutBeforeSpace(text, Math.max(start + FRAGMENT_LENGTH, first.end), first.end);
  const torn = found.find((span) => span.start < end && span.end > end);
  return { start, end: torn?.start ?? end };
}

/** The first place between words at or behind `at`, if it is near and not behind `latest`. */
function cutAfterSpace(text: string, at: number, latest: number): number {
  if (at === 0) return 0;
  for (let cut = at; cut <= Math.min(latest, at + CUT_REACH); cut++) {
    if (isSpace(text, cut - 1)) return cut;
  }
  return wholeCharacter(text, at);
}

/** The last place between words at or before `at`, if it is near and not before `earliest`. */
function cutBeforeSpace(text: string, at: number, earliest: number): number {
  if (at >= text.length) return text.length;
  for (let cut = at; cut >= Math.max(earliest, at - CUT_REACH); cut--) {
    if (isSpace(text, cut)) return cut;
  }
  return wholeCharacter(text, at);
}

function isSpace(text: string, at: number): boolean {
  return /\s/u.test(text.charAt(at));
}

/** The same place, or the one before where it would tear a surrogate pair. */
function wholeCharacter(text: string, at: number): number {
  return at > 0 && text.codePointAt(at - 1)! > 0xffff ? at - 1 : at;
}

function marked(text: string, { start, end }: TextSpan, found: readonly TextSpan[]): string {
  let shown = start > 0 ? '… ' : '';
  let at = start;
  for (const span of found) {
    shown += `${text.slice(at, span.start)}«${text.slice(span.start, span.end)}»`;
    at = span.end;
  }
  return shown + text.slice(at, end) + (end < text.length ? ' …' : '');
}
