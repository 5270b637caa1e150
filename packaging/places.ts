// Where the files of a package are that packing changes, from the package's directory.

export const MANIFEST = 'package.json';
/** The manifest of the repository, while the published one is in its place. */
export const KEPT = '.package.json.kept';
export const LICENSE = 'LICENSE';
