// What a generated client would trip over in another WSDL or XML Schema of ours: every element, attribute, part and binding of
// the committed file must still be there as it was. The files are ours, with an element on each line.

const OPEN = /^\s*<([\w:]+)([^>]*?)(\/?)>/;
const SELF_CLOSED_BY_LINE = (line: string, tag: string): boolean => line.includes(`</${tag}>`);

export function soapBreaks(committed: string, text: string): string[] {
  const [before, now] = [declarationsOf(committed), declarationsOf(text)];
  const broken: string[] = [];
  for (const [path, attributes] of before) {
    const found = now.get(path);
    if (found === undefined) broken.push(`${path} is gone`);
    else if (found !== attributes) broken.push(`${path} was${attributes} and is${found}`);
  }
  for (const [path, attributes] of now) {
    const isElement = /xs:element [^/]*$/.test(path);
    const isInside = path.includes('/xs:sequence');
    if (
      !before.has(path) &&
      isElement &&
      isInside &&
      hasParent(path, before) &&
      !/minOccurs="0"/.test(attributes)
    )
      broken.push(`${path} is new and required`);
  }
  return broken;
}

const hasParent = (path: string, known: ReadonlyMap<string, string>): boolean =>
  known.has(path.slice(0, path.lastIndexOf('/')));

/** By the names of all around it: `/xs:complexType Actor/xs:sequence/xs:element userId`. */
function declarationsOf(text: string): Map<string, string> {
  const found = new Map<string, string>();
  const around: string[] = [];
  for (const line of text.split('\n')) {
    if (/^\s*<\//.test(line)) around.pop();
    const match = OPEN.exec(line);
    const [, tag = '', attributes = '', closed] = match ?? [];
    if (match === null || /annotation|documentation/.test(tag)) continue;
    const name = /\sname="([^"]*)"/.exec(attributes)?.[1];
    const own = name === undefined ? tag : `${tag} ${name}`;
    const path = `${around.map((each) => `/${each}`).join('')}/${own}`;
    // What stands on the same line belongs to it.
    found.set(path, `${attributes}${line.slice(match[0].length)}`);
    if (closed !== '/' && !SELF_CLOSED_BY_LINE(line, tag)) around.push(own);
  }
  return found;
}
