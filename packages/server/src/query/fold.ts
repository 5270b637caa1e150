// Folds letters that the search takes for the same, by these steps, in this order: NFKD; marks (\p{M}) and
// invisible characters (Default_Ignorable_Code_Point: soft hyphen, zero-width space …) taken out; lower case; the
// letters of LETTERS replaced, which Unicode does not take apart; NFC, which puts the syllables of Hangul together.
// Folding a folded text changes nothing.

const UNSEEN = /[\p{M}\p{Default_Ignorable_Code_Point}]/gu;

const LETTERS: Readonly<Record<string, string>> = {
  ß: 'ss',
  æ: 'ae',
  œ: 'oe',
  þ: 'th',
  ð: 'd',
  đ: 'd',
  ħ: 'h',
  ı: 'i',
  ł: 'l',
  ø: 'o',
  ŧ: 't',
  // The sigma at the end of a word.
  ς: 'σ',
};
const LETTER = new RegExp(`[${Object.keys(LETTERS).join('')}]`, 'gu');

export function foldText(text: string): string {
  // Of ASCII only capitals are folded, and most texts are ASCII.
  if (isAscii(text)) return text.toLowerCase();
  return text
    .normalize('NFKD')
    .replaceAll(UNSEEN, '')
    .toLowerCase()
    .replaceAll(LETTER, (letter) => LETTERS[letter]!)
    .normalize('NFC');
}

function isAscii(text: string): boolean {
  for (let i = 0; i < text.length; i++) if (text.charCodeAt(i) >= 0x80) return false;
  return true;
}

/**
 * Separator: ends a word. Letter: of a word. Unspaced: a letter of a script that puts no space between words, or, as
 * Hangul, puts so much into one that its parts must be found.
 */
export type CharacterKind = 'Separator' | 'Letter' | 'Unspaced';

export interface FoldedCharacter {
  readonly character: string;
  readonly kind: CharacterKind;
}

const LETTER_OR_DIGIT = /[\p{L}\p{N}]/u;
const UNSPACED =
  /[\p{scx=Han}\p{scx=Hiragana}\p{scx=Katakana}\p{scx=Hangul}\p{scx=Thai}\p{scx=Lao}\p{scx=Khmer}\p{scx=Myanmar}]/u;

function kindOf(character: string): CharacterKind {
  if (!LETTER_OR_DIGIT.test(character)) return 'Separator';
  return UNSPACED.test(character) ? 'Unspaced' : 'Letter';
}

// Texts come from callers, so what is remembered must not grow with what they invent.
const REMEMBERED_MAX = 20_000;
const remembered = new Map<number, readonly FoldedCharacter[]>();

/** What a code point becomes: nothing where it is not seen, several characters for ½ or ﬁ. */
export function foldPoint(point: number): readonly FoldedCharacter[] {
  const known = remembered.get(point);
  if (known !== undefined) return known;
  const folded = [...foldText(String.fromCodePoint(point))].map((character) => ({
    character,
    kind: kindOf(character),
  }));
  if (remembered.size >= REMEMBERED_MAX) remembered.clear();
  remembered.set(point, folded);
  return folded;
}

/** A syllable of Hangul that a text holds in parts, from its beginning and the next part; undefined if it is none. */
export function joinHangul(beginning: string, part: string): string | undefined {
  if (part < '\u1160' || part > '\u11ff') return undefined;
  const joined = (beginning + part).normalize('NFC');
  return joined.length === 1 ? joined : undefined;
}
