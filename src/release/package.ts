import { existsSync, readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'

// From `src/release`, from `dist/src/release`, and from `dist/src`, where the programs are joined to a few modules.
const candidates = ['../', '../../', '../../../'].map((path) => new URL(path, import.meta.url))
const root = candidates.find((url) => existsSync(new URL('package.json', url)))
if (!root) throw new Error('package.json of edged is missing beside its code; install the package again')

/** The folder of this package, with what ships beside the code: `demo`, `config`. */
export const PACKAGE_ROOT = fileURLToPath(root)

const manifest = JSON.parse(readFileSync(new URL('package.json', root), 'utf8')) as {
  version: string
  optionalDependencies?: Readonly<Record<string, string>>
  peerDependencies?: Readonly<Record<string, string>>
}

/** The version of this package. */
export const VERSION = manifest.version

/** The version of the Workers runtime that this package was tested with. Releases name it as an optional peer. */
export const WORKERD_VERSION =
  (manifest.optionalDependencies ?? manifest.peerDependencies)?.['@cloudflare/workerd-linux-64'] ?? 'latest'

/** The commit that was built; `unknown` if the build has not recorded it. */
export const COMMIT = ((folder: URL): string => {
  try {
    return readFileSync(new URL('dist/commit', folder), 'utf8').trim()
  } catch {
    return 'unknown'
  }
})(root)
