// Writes a policy as YAML, in block style. Characters that could steer a terminal are written as escapes in double quotes, so
// the text is safe to print and is still read as the same policy.

import { Document, visit } from 'yaml';
import { printable } from '../output/printable.ts';
import type { PolicyForm } from './policy-form.ts';

/** The lines of the comment, then those of the policy. */
export function policyYaml(policy: PolicyForm, comment: readonly string[] = []): string[] {
  // `compat` quotes strings such as `yes`, which tools for YAML 1.1 would read as a boolean.
  const document = new Document(policy, {
    version: '1.2',
    schema: 'core',
    compat: 'yaml-1.1',
    aliasDuplicateObjects: false,
  });
  visit(document, {
    Scalar(place, node) {
      if (typeof node.value !== 'string') return;
      // Line breaks of a value become a block; a key has to fit on one line.
      const text = place === 'key' ? node.value : node.value.replaceAll('\n', '');
      if (printable(text) !== text) node.type = 'QUOTE_DOUBLE';
    },
  });
  const text = document.toString({ lineWidth: 0, doubleQuotedAsJSON: true });
  const lines = text.trimEnd().split('\n').map(printable);
  return [...comment.map((line) => `# ${printable(line)}`.trimEnd()), ...lines];
}
