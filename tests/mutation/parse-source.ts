// Parses TypeScript texts with the compiler that the repository already has. Its parser has no other door than this
// one, which it calls unstable: its version is exact, and tests/mutation.test.ts would say if the door moved.

import { API } from 'typescript/unstable/sync';
import type { SourceFile } from 'typescript/unstable/ast';
import { createVirtualFileSystem } from 'typescript/unstable/fs';

const PROJECT = '/mutation/tsconfig.json';
const OPTIONS = JSON.stringify({ compilerOptions: { noLib: true, types: [] }, include: ['**/*.ts'] });

/** Trees by path, of texts by path. */
export function parseSource(texts: ReadonlyMap<string, string>): Map<string, SourceFile> {
  const placed = [...texts].map(([path, text]) => [`/mutation/${path}`, text]);
  const fs = createVirtualFileSystem({ [PROJECT]: OPTIONS, ...Object.fromEntries(placed) });
  const api = new API({ cwd: '/mutation', fs });
  try {
    const project = api.updateSnapshot({ openProjects: [PROJECT] }).getProject(PROJECT);
    return new Map(
      [...texts.keys()].map((path) => [
        path,
        required(path, project?.program.getSourceFile(`/mutation/${path}`)),
      ]),
    );
  } finally {
    api.close();
  }
}

function required(path: string, tree: SourceFile | undefined): SourceFile {
  if (tree === undefined) throw new Error(`${path} was not parsed`);
  return tree;
}
