import { accessSync, constants } from 'node:fs'
import { createRequire } from 'node:module'
import { basename, dirname } from 'node:path'

/**
 * Packages with the binary. In a checkout the packages for Linux are optional dependencies. A release has no such
 * package, because the packages are 30 times as large as all the rest. The runtime needs unix sockets, so Windows is
 * not in the list.
 */
const PACKAGES: Readonly<Record<string, string>> = {
  'linux x64': '@cloudflare/workerd-linux-64',
  'linux arm64': '@cloudflare/workerd-linux-arm64',
  'darwin x64': '@cloudflare/workerd-darwin-64',
  'darwin arm64': '@cloudflare/workerd-darwin-arm64',
}

const packageName = (): string | undefined => PACKAGES[`${process.platform} ${process.arch}`]

/** Returns the path of the workerd binary. Undefined if its package is not installed. */
export function findWorkerd(): string | undefined {
  const name = packageName()
  if (name === undefined) return undefined
  const require = createRequire(import.meta.url)
  return executable(() => require.resolve(`${name}/bin/workerd`)) ?? executable(() => belowLauncher(require, name))
}

/** Returns why scripts do not run, with the command that installs the package for edged in the folder `root`. */
export function howToInstall(root: string, version: string): string {
  const name = packageName()
  if (name === undefined)
    return `Workers need Linux or macOS on x64 or arm64; this is ${process.platform} ${process.arch}`
  return `${name} is not installed; install it with: npm install ${target(root)} --no-save ${name}@${version}`
}

/** Options of npm for the folder whose packages this package finds. */
function target(root: string): string {
  const modules = dirname(root)
  if (basename(modules) !== 'node_modules') return `--prefix ${root}`
  const above = dirname(modules)
  return basename(above) === 'lib' ? `--global --prefix ${dirname(above)}` : `--prefix ${above}`
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
