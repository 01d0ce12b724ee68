import { accessSync, constants } from 'node:fs'
import { createRequire } from 'node:module'

/** Packages with the binary. Those for Linux are optional dependencies; the others come with the npm package `workerd`. The runtime needs unix sockets, so Windows is not in the list. */
const PACKAGES: Readonly<Record<string, string>> = {
  'linux x64': '@cloudflare/workerd-linux-64',
  'linux arm64': '@cloudflare/workerd-linux-arm64',
  'darwin x64': '@cloudflare/workerd-darwin-64',
  'darwin arm64': '@cloudflare/workerd-darwin-arm64',
}

/** Returns the path of the workerd binary. Undefined if its package is not installed. */
export function findWorkerd(): string | undefined {
  const name = PACKAGES[`${process.platform} ${process.arch}`]
  if (name === undefined) return undefined
  const require = createRequire(import.meta.url)
  return executable(() => require.resolve(`${name}/bin/workerd`)) ?? executable(() => belowLauncher(require, name))
}

/** Package managers may install the platform package below the package `workerd`. */
const belowLauncher = (require: NodeJS.Require, name: string): string =>
  createRequire(require.resolve('workerd/package.json')).resolve(`${name}/bin/workerd`)

function executable(find: () => string): string | undefined {
  try {
    const path = find()
    accessSync(path, constants.X_OK)
    return path
  } catch {
    return undefined
  }
}
