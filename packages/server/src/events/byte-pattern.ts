// A pattern of the contract as a table over bytes: asks whether a text matches where it stands in canonical JSON, without
// making a string of it. Each byte leads from one state to the next; nothing leads out of state 0. Takes characters,
// classes, groups, alternatives and counts, from `^` to `$`, and throws for anything else.

export type BytePattern = (bytes: Uint8Array, from: number, to: number) => boolean;

/** A state is a byte, and a table has a row of so many places for each. */
const ROW = 256;
/** Characters past it, and those that JSON escapes, match nothing: such a text is undecided. */
const ASCII_MAX = 0x7f;
const ESCAPED = '"\\';
const NOWHERE = new Uint8Array(ROW);

export function bytePattern(source: string): BytePattern {
  const tokens = source.match(/\[[^\]]+\]|\\.|\{[\d,]+\}|\(\?:|./g) ?? [];
  const end: Step = { to: [] };
  if (tokens.shift() !== '^') throw unknown(source);
  const begin = groupOf(tokens, '$')(end);
  const { table, accepts } = tableOf(begin, end);
  if (tokens.length > 0 || accepts.length > ROW) throw unknown(source);
  return (bytes, from, to) => {
    let state = 1;
    for (let at = from; at < to; at++) state = table[state * ROW + bytes[at]!]!;
    return accepts[state] === 1;
  };
}

/** A place in the pattern: leads on by a character, or without one, to one place or several. */
interface Step {
  readonly takes?: Uint8Array;
  readonly to: Step[];
}

/** Places one piece of a pattern before what follows it. */
type Piece = (next: Step) => Step;

/** Takes the tokens up to the one that closes the group. */
function groupOf(tokens: string[], closing: string): Piece {
  const branches: Piece[][] = [[]];
  for (let token = tokens.shift(); token !== closing; token = tokens.shift()) {
    if (token === '|') branches.push([]);
    else
      branches.at(-1)!.push(countedOf(token?.[0] === '(' ? groupOf(tokens, ')') : singleOf(token), tokens));
  }
  return (next) => ({
    to: branches.map((pieces) => pieces.reduceRight((after, piece) => piece(after), next)),
  });
}

const COUNTS: Readonly<Record<string, string>> = { '?': '{0,1}', '*': '{0,}', '+': '{1,}' };

function countedOf(piece: Piece, tokens: string[]): Piece {
  const count = /^\{(\d+)(,?)(\d*)\}$/.exec(COUNTS[tokens[0] ?? ''] ?? tokens[0] ?? '');
  if (count === null) return piece;
  tokens.shift();
  const [min, isOpen] = [Number(count[1]), count[2] !== '' && count[3] === ''];
  const optional = isOpen ? 0 : Number(count[3]) - min;
  return (next) => {
    let begin = isOpen ? repeated(piece, next) : next;
    for (let i = 0; i < optional; i++) begin = { to: [piece(begin), next] };
    for (let i = 0; i < min; i++) begin = piece(begin);
    return begin;
  };
}

function repeated(piece: Piece, next: Step): Step {
  const loop: Step = { to: [next] };
  loop.to.push(piece(loop));
  return loop;
}

/** One character of a class, or a character that stands for itself; what it takes is asked of the engine. */
function singleOf(token = ''): Piece {
  if (!/^(?:\[.+\]|\\(?:d|\W)|[^[\]\\{}*+?.()|^$])$/.test(token)) throw unknown(token);
  const pattern = new RegExp(`^${token}$`, 'u');
  const takes = Uint8Array.from({ length: ROW }, (_, code) => {
    const character = String.fromCharCode(code);
    return code <= ASCII_MAX && !ESCAPED.includes(character) && pattern.test(character) ? 1 : 0;
  });
  return (next) => ({ takes, to: [next] });
}

function unknown(pattern: string): Error {
  return new Error(`no table can be made of the pattern ${pattern}`);
}

/** A state of the table is a set of steps that a text may have come to. */
function tableOf(begin: Step, end: Step): { table: Uint8Array; accepts: Uint8Array } {
  const states: ReadonlySet<Step>[] = [new Set(), reached([begin])];
  const table: number[] = [];
  for (const steps of states) {
    const row = table.push(...NOWHERE) - ROW;
    const takers = [...steps].filter(({ takes }) => takes !== undefined);
    for (let code = 0; code <= ASCII_MAX; code++) {
      const taking = takers.filter(({ takes }) => takes![code] === 1);
      if (taking.length === 0) continue;
      const after = reached(taking.flatMap(({ to }) => to));
      const known = states.findIndex((state) => state.size === after.size && after.isSubsetOf(state));
      table[row + code] = known === -1 ? states.push(after) - 1 : known;
    }
  }
  const accepts = states.map((steps) => (steps.has(end) ? 1 : 0));
  return { table: Uint8Array.from(table), accepts: Uint8Array.from(accepts) };
}

/** These steps, and all that they lead to without a character. */
function reached(steps: readonly Step[]): ReadonlySet<Step> {
  const all = new Set(steps);
  for (const { takes, to } of all) if (takes === undefined) for (const next of to) all.add(next);
  return all;
}
