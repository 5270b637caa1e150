// Reads the repository's own source for the tidy tests: files, the imports between them, their functions.

import { readFileSync } from 'node:fs';
import { dirname, join, relative, resolve } from 'node:path';
import { execFileSync } from 'node:child_process';

export const ROOT = resolve(import.meta.dirname, '..');

export interface Import {
  /** As written. */
  specifier: string;
  typeOnly: boolean;
}

export interface SourceFile {
  /** From the repository's root, with forward slashes. */
  path: string;
  text: string;
  lines: string[];
  imports: Import[];
}

/** Files that git tracks or would track, so that build output and local data never count. */
export function repositoryFiles(): string[] {
  const listed = execFileSync('git', ['ls-files', '--cached', '--others', '--exclude-standard'], {
    cwd: ROOT,
    encoding: 'utf8',
  });
  const deleted = new Set(
    execFileSync('git', ['ls-files', '--deleted'], { cwd: ROOT, encoding: 'utf8' }).split('\n'),
  );
  return listed.split('\n').filter((path) => path !== '' && !deleted.has(path));
}

export function readText(path: string): string {
  return readFileSync(join(ROOT, path), 'utf8');
}

export function sourceFiles(): SourceFile[] {
  return repositoryFiles()
    .filter((path) => /\.(ts|tsx|js)$/.test(path))
    .map((path) => {
      const text = readText(path);
      return { path, text, lines: text.split('\n'), imports: importsOf(text) };
    });
}

/** The roots and all files that they import, however far away. */
export function importedFrom(roots: readonly SourceFile[], files: readonly SourceFile[]): SourceFile[] {
  const byPath = new Map(files.map((file) => [file.path, file]));
  const reached = new Set<SourceFile>(roots);
  // A Set is gone through with what is added on the way.
  for (const file of reached) {
    for (const { specifier } of file.imports) {
      const target = byPath.get(targetOf(file, specifier) ?? '');
      if (target !== undefined) reached.add(target);
    }
    // Threads are started by the names of their files.
    for (const [, name] of file.text.matchAll(/'([a-z-]+-thread)'/g)) {
      const thread = byPath.get(join(dirname(file.path), `${name}.ts`));
      if (thread !== undefined) reached.add(thread);
    }
  }
  return [...reached];
}

export function isTest(path: string): boolean {
  return path.endsWith('.test.ts') || path.startsWith('tests/') || /\/testing(\/|\.ts$)/.test(path);
}

function importsOf(text: string): Import[] {
  const imports: Import[] = [];
  const code = text.replace(/^\s*\/\/.*$/gm, '');
  const statement = /^(?:import|export)\s+(type\s+)?(?:[^'";]*?\sfrom\s+)?'([^']+)';?/gms;
  for (const match of code.matchAll(statement)) {
    imports.push({ specifier: match[2]!, typeOnly: match[1] !== undefined });
  }
  for (const match of code.matchAll(/\b(?:import|new URL)\(\s*'([^']+)'/g)) {
    imports.push({ specifier: match[1]!, typeOnly: false });
  }
  return imports;
}

/** The repository path that a relative import leads to, or undefined for a package. */
export function targetOf(file: SourceFile, specifier: string): string | undefined {
  if (!specifier.startsWith('.')) return undefined;
  return relative(ROOT, resolve(ROOT, dirname(file.path), specifier)).replaceAll('\\', '/');
}

export interface FunctionSpan {
  startLine: number;
  lineCount: number;
}

// The formatter puts a function's closing brace at the indentation of the line that opens it; that is
// enough to measure functions without a parser.
const OPENS_FUNCTION =
  /^(\s*)(?:export )?(?:async )?(?:function\b|(?:public |private |static |override |async |get |set |\*)*#?[\w$]+(?:<[^>]*>)?\([^;]*\)(?::[^;]*)? \{$|(?:const|let) [\w$]+.*=> \{$)/;
const CONTROL = /^\s*(?:if|for|while|switch|catch|else|do|return|await|throw)\b/;

/** What stands behind the indentation; nothing where it is another one. */
function cut(line: string, indent: string): string {
  return line.startsWith(indent) ? line.slice(indent.length) : '';
}

export function functionsOf(file: SourceFile): FunctionSpan[] {
  const spans: FunctionSpan[] = [];
  for (const [i, line] of file.lines.entries()) {
    if (CONTROL.test(line) || !OPENS_FUNCTION.test(line)) continue;
    const indent = /^\s*/.exec(line)![0];
    const end = file.lines.findIndex(
      (other, j) => j > i && (other === `${indent}}` || /^\}[;,]/.test(cut(other, indent))),
    );
    if (end !== -1) spans.push({ startLine: i + 1, lineCount: end - i + 1 });
  }
  return spans;
}
