// A tree of secrets under one secret, of which any branch can be destroyed for good: the two halves of each node are HMACs of
// it. What is left after a branch is destroyed is the nodes beside the way to it, and no way leads from them to what was
// there. So a file of constant size has a secret for each of any number of names, and forgets single ones.
//
//   half(node, bit) = HMAC-SHA256( node, u8 bit )      the secret of a path = the node that its bits lead to

import { HmacSha256 } from '@tallystick/evidence';

/** Nodes by their paths, which are texts of the digits 0 and 1; none is within another. A whole tree has one, at ''. */
export type KeyTree = ReadonlyMap<string, Uint8Array>;

export function wholeTree(secret: Uint8Array): KeyTree {
  return new Map([['', secret]]);
}

/** Undefined where it was destroyed. */
export function secretAt(tree: KeyTree, path: string): Uint8Array | undefined {
  const from = nodeOver(tree, path);
  if (from === undefined) return undefined;
  let secret = tree.get(from)!;
  for (const bit of path.slice(from.length)) secret = half(secret, bit);
  return secret;
}

/** The tree without a path and all that is under it; the same one where nothing of that is left. */
export function withoutBranch(tree: KeyTree, path: string): KeyTree {
  const left = new Map([...tree].filter(([own]) => !own.startsWith(path)));
  const from = nodeOver(tree, path);
  if (from === undefined) return left.size === tree.size ? tree : left;
  if (from === path) return left;
  left.delete(from);
  let secret = tree.get(from)!;
  for (let at = from.length; at < path.length; at++) {
    const bit = path[at]!;
    const other = bit === '0' ? '1' : '0';
    left.set(path.slice(0, at) + other, half(secret, other));
    // The last half is what goes.
    if (at < path.length - 1) secret = half(secret, bit);
  }
  return left;
}

/** The first bits of some bytes. */
export function bitsOf(bytes: Uint8Array, count: number): string {
  return Array.from(bytes, (byte) => byte.toString(2).padStart(8, '0'))
    .join('')
    .slice(0, count);
}

function nodeOver(tree: KeyTree, path: string): string | undefined {
  for (let length = path.length; length >= 0; length--) {
    const own = path.slice(0, length);
    if (tree.has(own)) return own;
  }
  return undefined;
}

/** Dozens of them lead to a secret, so the time of each matters. */
function half(secret: Uint8Array, bit: string): Uint8Array {
  return new HmacSha256(secret).ofText(bit === '1' ? '\u0001' : '\0');
}
