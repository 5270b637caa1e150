// Makes the page that verifies exports out of the modules of the evidence package, as they are installed here: its sources without
// their types, or its build. No bundler is needed for the few forms in which this project imports and exports; anything else is refused.

import { readFile } from 'node:fs/promises';
import { createRequire, stripTypeScriptTypes } from 'node:module';
import { join } from 'node:path';
import { verifierPage } from '@tallystick/evidence';

/** The page as one HTML file. */
export async function linkPage(): Promise<string> {
  const main = createRequire(import.meta.url).resolve('@tallystick/evidence/page');
  return verifierPage(await new Linking().script(main));
}

const IMPORT = /^import\s+\{([^}]*)\}\s+from\s+'(\.[^']+)';$/gm;
const EXPORT = /^export (?=(?:async )?(?:function\*?|class|const) ([\w$]+))/gm;
const EXPORTS_NOTHING = /^export \{\s*\};$/gm;

/** Each module becomes a function of its own, called once, behind all that it imports. */
class Linking {
  /** The variable with the exports of a module, by its path. */
  readonly #variables = new Map<string, string>();
  readonly #parts: string[] = [];

  async script(main: string): Promise<string> {
    await this.#add(main);
    return `\n${this.#parts.join('\n')}\n`;
  }

  async #add(path: string): Promise<string> {
    const known = this.#variables.get(path);
    if (known === '') throw new Error(`${path} is imported by what it imports`);
    if (known !== undefined) return known;
    this.#variables.set(path, '');
    const text = await readFile(path, 'utf8');
    const code = path.endsWith('.ts') ? stripTypeScriptTypes(text) : text;
    for (const [, , from] of code.matchAll(IMPORT)) await this.#add(join(path, '..', from!));
    const names: string[] = [];
    const body = code
      .replace(IMPORT, (_, imported: string, from: string) => {
        const listed = imported.split(',').map((each) => each.trim().replace(/\s+as\s+/, ': '));
        return `const { ${listed.filter((each) => each !== '').join(', ')} } = ${this.#variables.get(join(path, '..', from))};`;
      })
      .replace(EXPORTS_NOTHING, '')
      .replace(EXPORT, (_, name: string) => {
        names.push(name);
        return '';
      });
    if (/^(?:import|export)\b/m.test(body)) throw new Error(`${path} imports or exports in another form`);
    const variable = `module${this.#parts.length}`;
    this.#parts.push(`const ${variable} = (() => {\n${body}\nreturn { ${names.join(', ')} };\n})();`);
    this.#variables.set(path, variable);
    return variable;
  }
}
