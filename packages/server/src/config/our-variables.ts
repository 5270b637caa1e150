// Which variables of the process are meant for us, and which setting a name that is none was probably meant to be. A
// variable that was meant for us must not be passed over: the data would go where nobody looks for it. The variables of
// other programs must stop nothing. Ours are
//   - the settings themselves, and whatever stands in one of our sections;
//   - what differs from a setting in a section only in upper and lower case (SERVER__PORT);
//   - near misses that are written the way settings are (Xx…): other separators (Server_Port), at most one letter in
//     eight wrong (Storge__DataDirectory), or one letter of a longer section (Storge__Anything).
// So SERVER_PORT and LOG__LEVEL, which many programs read, are not ours.

import { nearest } from './nearest.ts';
import { isSectionList, isSetting, type Node, type Section } from './setting.ts';
import { SETTINGS } from './settings.ts';

const LETTERS_PER_CHANGE = 8;
/** One change makes another word of a short section: Log, Blog; Node, Mode. */
const SECTION_LENGTH_MIN = 6;

export function isOurVariable(variable: string): boolean {
  const [section, ...rest] = variable.split('__');
  if (rest.length > 0 && SECTIONS.includes(section!)) return true;
  if (rest.length > 0 && KNOWN_LOWER.has(variable.toLowerCase())) return true;
  return KNOWN_NAMES.includes(variable) || isNearMiss(variable);
}

/** What a name that is no setting was perhaps meant to be, and the question at the end of a line about it. */
export function meantBy(name: string): { readonly setting?: string; readonly question: string } {
  const letters = nearest(lettersOf(name), [...BY_LETTERS.keys()]);
  const setting = letters === undefined ? undefined : BY_LETTERS.get(letters);
  if (setting !== undefined) return { setting, question: `; did you mean ${setting}?` };
  const section = nearSection(name);
  return { question: section === undefined ? '' : `; did you mean the section ${section}?` };
}

function isNearMiss(variable: string): boolean {
  const isLike = (setting: string): boolean =>
    isWrittenAsSetting(variable) === isWrittenAsSetting(setting) &&
    (hasSeparator(variable) || !hasSeparator(setting));
  const near = nearest(lettersOf(variable), KNOWN_NAMES.filter(isLike).map(lettersOf), (setting) =>
    Math.floor(setting.length / LETTERS_PER_CHANGE),
  );
  return near !== undefined || (isWrittenAsSetting(variable) && nearSection(variable) !== undefined);
}

function isWrittenAsSetting(name: string): boolean {
  return /^[A-Z][a-z]/.test(name);
}

function hasSeparator(name: string): boolean {
  return /[^A-Za-z0-9]/.test(name);
}

/** Without separators and indexes: what is left of a setting however its parts were joined. */
function lettersOf(name: string): string {
  const parts = name.split(/[^A-Za-z0-9]+/);
  return parts.filter((part) => !/^\d+$/.test(part)).join('');
}

/** The section that a name with `__` begins with, but for one change. */
function nearSection(name: string): string | undefined {
  const [section, ...rest] = name.split('__');
  if (rest.length === 0 || SECTIONS.includes(section!)) return undefined;
  return nearest(section!, SECTIONS, ({ length }) => (length < SECTION_LENGTH_MIN ? 0 : 1));
}

function namesOf(node: Node, name: string): string[] {
  if (isSetting(node)) return [node.name ?? name];
  const section: Section = isSectionList(node) ? node.each : node;
  const prefix = isSectionList(node) ? `${name}__0__` : name === '' ? '' : `${name}__`;
  return Object.entries(section).flatMap(([key, part]) => namesOf(part, prefix + key));
}

const KNOWN_NAMES: readonly string[] = namesOf(SETTINGS, '');
const KNOWN_LOWER: ReadonlySet<string> = new Set(KNOWN_NAMES.map((name) => name.toLowerCase()));
const BY_LETTERS: ReadonlyMap<string, string> = new Map(KNOWN_NAMES.map((name) => [lettersOf(name), name]));
const SECTIONS: readonly string[] = [
  ...new Set(KNOWN_NAMES.filter((name) => name.includes('__')).map((name) => name.split('__')[0]!)),
];
