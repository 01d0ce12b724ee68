import { readFileSync, statSync } from 'node:fs'
import { basename, dirname, relative, resolve, sep } from 'node:path'
import { digestOfJson } from '../../core/digest.js'
import { messageOf } from '../../core/errors.js'
import type { TransformModule } from '../../core/extension/record-transform.js'
import { moduleScope } from '../code/scope.js'

const MAX_MODULES = 100
const MAX_BYTES = 4 * 2 ** 20

/** A file that cannot be a transform. The message names the file. */
export class TransformRejected extends Error {
  override readonly name = 'TransformRejected'
}

/** Reads a module and the modules that it imports by relative paths. Throws {@link TransformRejected}. */
export function loadTransform(file: string): TransformModule {
  const main = resolve(file)
  const sources = new Map<string, string>()
  const open = [{ path: main, from: main }]
  let bytes = 0
  for (let next = open.pop(); next !== undefined; next = open.pop()) {
    const { path, from } = next
    if (sources.has(path)) continue
    if (sources.size >= MAX_MODULES)
      throw new TransformRejected(`${basename(file)} imports more than ${MAX_MODULES} modules; bundle them to one file`)
    const source = textOf(path, from, dirname(main))
    bytes += Buffer.byteLength(source)
    if (bytes > MAX_BYTES)
      throw new TransformRejected(`${basename(file)} and its imports are larger than ${MAX_BYTES} bytes`)
    sources.set(path, source)
    for (const specifier of importsOf(source)) open.push({ path: resolve(dirname(path), specifier), from: path })
  }
  const root = commonFolder([...sources.keys()])
  const nameOf = (path: string): string => relative(root, path).split(sep).join('/')
  const modules = [...sources].map(([path, source]) => ({ name: nameOf(path), source }))
  return { file: main, main: nameOf(main), modules, digest: digestOfJson(JSON.stringify(modules)) }
}

function textOf(path: string, from: string, folder: string): string {
  const shown = relative(folder, path)
  const by = path === from ? '' : `, which ${relative(folder, from)} imports`
  try {
    if (!statSync(path).isFile()) throw new TransformRejected(`${shown} is not a file${by}`)
    return readFileSync(path, 'utf8')
  } catch (error) {
    if (error instanceof TransformRejected) throw error
    const isMissing = (error as NodeJS.ErrnoException).code === 'ENOENT'
    throw new TransformRejected(
      isMissing ? `${shown} does not exist${by}` : `cannot read ${shown}: ${messageOf(error)}`,
    )
  }
}

/** Returns the relative imports of a module. The runtime reports wrong syntax with its place. */
function importsOf(source: string): string[] {
  try {
    const file = { name: 'module', part: 'module', type: 'application/javascript+module', bytes: Buffer.from(source) }
    return moduleScope(file).imports.filter((specifier) => /^\.{1,2}\//.test(specifier))
  } catch {
    return []
  }
}

function commonFolder(paths: readonly string[]): string {
  let root = dirname(paths[0]!)
  while (!paths.every((path) => path.startsWith(root.endsWith(sep) ? root : root + sep))) root = dirname(root)
  return root
}
