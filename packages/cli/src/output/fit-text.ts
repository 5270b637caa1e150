// Text in the columns of a terminal: how many it takes, and cut to as many as there are.

/** Made when it is first asked for, because that takes longer than many a command. */
let graphemes: Intl.Segmenter | undefined;
const WIDE =
  /[\u1100-\u115f\u2e80-\u303e\u3041-\ua4cf\uac00-\ud7a3\uf900-\ufaff\ufe30-\ufe6f\uff00-\uff60\uffe0-\uffe6\u{1f300}-\u{1f64f}\u{1f680}-\u{1f6ff}\u{1f900}-\u{1f9ff}\u{20000}-\u{3fffd}]/u;
const BARE = /^[\p{Mn}\p{Me}\p{Cf}]+$/u;
const MORE = '…';

export function widthOf(text: string): number {
  return lettersOf(text).reduce((sum, letter) => sum + letterWidth(letter), 0);
}

/** At most so wide; where something is missing, … says so. */
export function cutTo(text: string, width: number): string {
  if (widthOf(text) <= width) return text;
  let left = width - 1;
  let kept = '';
  for (const letter of lettersOf(text)) {
    left -= letterWidth(letter);
    if (left < 0) break;
    kept += letter;
  }
  return width < 1 ? '' : `${kept}${MORE}`;
}

export function padTo(text: string, width: number): string {
  return `${text}${' '.repeat(Math.max(0, width - widthOf(text)))}`;
}

function lettersOf(text: string): string[] {
  graphemes ??= new Intl.Segmenter('en', { granularity: 'grapheme' });
  return Array.from(graphemes.segment(text), ({ segment }) => segment);
}

function letterWidth(letter: string): number {
  if (BARE.test(letter)) return 0;
  return WIDE.test(letter) ? 2 : 1;
}
