// The mutants of a source text: each is the text with one small mistake in it, of the kinds that a test should notice.
// What a message says is left alone: it is prose, and no verdict depends on it. Types are left alone: they are gone
// when the code runs.

import {
  isBinaryExpression,
  isBlock,
  isCallExpression,
  isConditionalExpression,
  isDoStatement,
  isExpressionStatement,
  isForStatement,
  isIfStatement,
  isImportDeclaration,
  isInterfaceDeclaration,
  isNumericLiteral,
  isPostfixUnaryExpression,
  isPrefixUnaryExpression,
  isPropertyAccessExpression,
  isRegularExpressionLiteral,
  isReturnStatement,
  isStringLiteral,
  isTemplateExpression,
  isThrowStatement,
  isTypeAliasDeclaration,
  isTypeNode,
  isVariableDeclaration,
  isWhileStatement,
  type Node,
  type SourceFile,
  SyntaxKind,
} from 'typescript/unstable/ast';
import { isProse, type ProsePlaces } from './prose.ts';

export interface Mutant {
  start: number;
  end: number;
  replacement: string;
}

/**
 * For each operator the one mistake that is hardest to see: a test that tells `<` from `<=` tells it from `>=` as well,
 * and one that tells `a && b` from `a` and from `b` tells it from `a || b`. More would take longer and say no more.
 */
const OPERATORS: Record<string, string> = {
  '===': '!==',
  '!==': '===',
  '<': '<=',
  '<=': '<',
  '>': '>=',
  '>=': '>',
  '+': '-',
  '-': '+',
  '*': '/',
  '/': '*',
  '%': '*',
  '**': '*',
  '<<': '>>',
  '>>': '<<',
  '>>>': '<<',
  '&': '|',
  '|': '&',
  '+=': '-=',
  '-=': '+=',
  '??=': '=',
};
/** Operators of which the mistake is to write one side only. */
const TWO_SIDED = new Set(['&&', '||', '??']);
const METHODS: Record<string, string> = {
  every: 'some',
  some: 'every',
  min: 'max',
  max: 'min',
  startsWith: 'endsWith',
  endsWith: 'startsWith',
  floor: 'ceil',
  indexOf: 'lastIndexOf',
};
/** Calls that give a part, another order or a copy of what they are made on: the mistake is to leave them out. */
const NARROWING = new Set(['slice', 'subarray', 'filter', 'sort', 'toReversed', 'toSorted', 'replaceAll']);

export function mutantsOf(tree: SourceFile, prose: ProsePlaces): Mutant[] {
  const mutants: Mutant[] = [];
  const add = (node: Node, ...replacements: string[]): void => {
    const [start, end] = [node.getStart(tree), node.end];
    const now = tree.text.slice(start, end);
    for (const replacement of replacements)
      if (replacement !== now) mutants.push({ start, end, replacement });
  };
  const visit = (node: Node): void => {
    if (isImportDeclaration(node) || isTypeNode(node) || isInterfaceDeclaration(node)) return;
    if (isTypeAliasDeclaration(node) || isProse(node, prose)) return;
    mutateExpression(node, add);
    mutateLiteral(node, add);
    if (node !== tree) mutateStatement(node, add);
    node.forEachChild(visit);
  };
  visit(tree);
  return mutants;
}

type Add = (node: Node, ...replacements: string[]) => void;

function mutateExpression(node: Node, add: Add): void {
  if (isBinaryExpression(node)) {
    const { left, operatorToken, right } = node;
    const operator = operatorToken.getText();
    const isConcatenation = operator.startsWith('+') && (isText(left) || isText(right));
    if (!isConcatenation && operator in OPERATORS) add(operatorToken, OPERATORS[operator]!);
    if (TWO_SIDED.has(operator)) add(node, left.getText(), right.getText());
  }
  if (isPrefixUnaryExpression(node)) {
    if (node.operator === SyntaxKind.ExclamationToken) add(node, node.operand.getText());
    if (node.operator === SyntaxKind.MinusToken) add(node, node.operand.getText());
  }
  if (isPrefixUnaryExpression(node) || isPostfixUnaryExpression(node)) {
    const text = node.getText();
    if (text.includes('++') || text.includes('--')) {
      add(node, text.includes('++') ? text.replace('++', '--') : text.replace('--', '++'));
    }
  }
  if (isConditionalExpression(node)) mutateCondition(node.condition, add);
  if (isCallExpression(node) && isPropertyAccessExpression(node.expression)) {
    const { name, expression } = node.expression;
    const other = Object.hasOwn(METHODS, name.getText()) ? METHODS[name.getText()] : undefined;
    if (other !== undefined) add(name, other);
    if (NARROWING.has(name.getText())) add(node, expression.getText());
  }
}

function mutateLiteral(node: Node, add: Add): void {
  if (isNumericLiteral(node)) add(node, `(${node.getText()} + 1)`);
  if (isNumericLiteral(node) && isVariableDeclaration(node.parent)) add(node, `(${node.getText()} - 1)`);
  if (isStringLiteral(node)) add(node, node.text === '' ? "'mutant'" : "''");
  if (isTemplateExpression(node)) add(node, "''");
  if (node.kind === SyntaxKind.TrueKeyword) add(node, 'false');
  if (node.kind === SyntaxKind.FalseKeyword) add(node, 'true');
  if (isRegularExpressionLiteral(node)) {
    const text = node.getText();
    add(node, text.replace('/^', '/'), text.replace(/\$\/([a-z]*)$/, '/$1'));
    for (const { index, 0: repeat } of text.matchAll(/[*+](?=[^\]]|$)/g)) {
      if (text[index - 1] === '\\' || text[index - 1] === '[' || text[index - 1] === '^') continue;
      add(node, text.slice(0, index) + (repeat === '*' ? '+' : '*') + text.slice(index + 1));
    }
  }
}

function mutateStatement(node: Node, add: Add): void {
  if (isIfStatement(node)) mutateCondition(node.expression, add);
  if (isWhileStatement(node) || isDoStatement(node)) add(node.expression, 'false');
  if (isForStatement(node) && node.condition !== undefined) add(node.condition, 'false');
  if (isReturnStatement(node) && node.expression !== undefined && !isBoolean(node.expression)) {
    add(node.expression, 'undefined');
  }
  const isAlone = isIfStatement(node.parent);
  const isRemovable =
    isExpressionStatement(node) ||
    node.kind === SyntaxKind.BreakStatement ||
    node.kind === SyntaxKind.ContinueStatement ||
    (isReturnStatement(node) && node.expression === undefined) ||
    isThrowStatement(node);
  // A guard whose only statement is gone is a guard that never holds, which is a mutant already.
  if (isRemovable && !isAlone && !isOnlyStatementOfIf(node.parent)) add(node, ';');
}

/** A condition that never holds, and, where no mutant of its operator does so, the opposite one. */
function mutateCondition(condition: Node, add: Add): void {
  add(condition, 'false');
  if (!isBinaryExpression(condition) && !isPrefixUnaryExpression(condition))
    add(condition, `!(${condition.getText()})`);
}

function isOnlyStatementOfIf(node: Node): boolean {
  return isBlock(node) && node.statements.length === 1 && isIfStatement(node.parent);
}

function isBoolean(node: Node): boolean {
  return node.kind === SyntaxKind.TrueKeyword || node.kind === SyntaxKind.FalseKeyword;
}

function isText(node: Node): boolean {
  return isStringLiteral(node) || isTemplateExpression(node);
}
