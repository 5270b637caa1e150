// Finds the source text that only words a message: the arguments of parameters that are called message, fault or what,
// and the values of constants of such a name.

import {
  isCallExpression,
  isClassDeclaration,
  isConstructorDeclaration,
  isFunctionDeclaration,
  isMethodDeclaration,
  isNewExpression,
  isVariableDeclaration,
  type Node,
  type SourceFile,
} from 'typescript/unstable/ast';

const PROSE_NAMES = new Set(['message', 'fault', 'what']);

/** By the name of a function or class, which of its arguments are prose. */
export type ProsePlaces = ReadonlyMap<string, ReadonlySet<number>>;

export function prosePlaces(trees: Iterable<SourceFile>): ProsePlaces {
  const places = new Map<string, Set<number>>();
  const visit = (node: Node): void => {
    const name = nameOf(node);
    if (
      name !== undefined &&
      (isFunctionDeclaration(node) || isMethodDeclaration(node) || isConstructorDeclaration(node))
    ) {
      const found = node.parameters.flatMap((parameter, i) =>
        PROSE_NAMES.has(parameter.name.getText()) ? [i] : [],
      );
      if (found.length > 0) places.set(name, new Set([...(places.get(name) ?? []), ...found]));
    }
    node.forEachChild(visit);
  };
  for (const tree of trees) visit(tree);
  return places;
}

export function isProse(node: Node, places: ProsePlaces): boolean {
  const { parent } = node;
  if (parent === undefined) return false;
  if (isVariableDeclaration(parent))
    return parent.initializer === node && PROSE_NAMES.has(parent.name.getText());
  if (!isCallExpression(parent) && !isNewExpression(parent)) return false;
  const called = /#?\w+$/.exec(parent.expression.getText())?.[0] ?? '';
  const place = parent.arguments?.findIndex((argument) => argument === node) ?? -1;
  return places.get(called)?.has(place) ?? false;
}

function nameOf(node: Node): string | undefined {
  if (isConstructorDeclaration(node))
    return isClassDeclaration(node.parent) ? node.parent.name?.getText() : undefined;
  return isFunctionDeclaration(node) || isMethodDeclaration(node) ? node.name?.getText() : undefined;
}
