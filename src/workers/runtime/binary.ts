import { accessSync, constants } from 'node:fs'
import { createRequire } from 'node:module'

/** Platform packages of the npm package `workerd`. The runtime needs unix sockets, so Windows is not in the list. */
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
  try {
    // The launcher package depends on the platform package, which package managers may install below it.
    const launcher = require.resolve('workerd/package.json')
    const path = createRequire(launcher).resolve(`${name}/bin/workerd`)
    accessSync(path, constants.X_OK)
    return path
  } catch {
    return undefined
  }
}
