import { execFileSync } from 'node:child_process'
import { isBuiltin } from 'node:module'
import { mkdirSync, mkdtempSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { build } from 'esbuild'

/** The top folder of the sources. */
export const ROOT = join(import.meta.dirname, '..')

/** The folder of the code of validators, beside the programs, which load it. */
export const VALIDATORS = 'dist/src/validators'

/**
 * What starts on its own, by its name beside the other modules: the command, a proxy process, the threads that read uploads and
 * the configuration, and compare passwords.
 * They are in one folder, so that they find each other.
 */
export const PROGRAMS = {
  cli: 'src/cli',
  main: 'src/daemon/processes/main',
  thread: 'src/workers/code/thread',
  'config-thread': 'src/daemon/config/config-thread',
  'parquet-thread': 'pipelines/logpush/parquet/parquet-thread',
  'password-thread': 'src/edge/auth/password-thread',
}

/** Modules of others may be CommonJS modules, which expect these two names. */
const COMMONJS = `import { createRequire as requireFrom } from 'node:module'
const require = requireFrom(import.meta.url), __dirname = import.meta.dirname`

/**
 * Gives a package that our code imports when it needs it the named exports that Node finds in it: of a CommonJS module esbuild
 * makes one with the default export alone, so that `Redis` of `await import('ioredis')` would be undefined.
 */
const namedExports = {
  name: 'named-exports',
  setup({ onResolve, onLoad, resolve }) {
    onResolve({ filter: /^[^./]/ }, async ({ path, kind, importer, resolveDir, pluginData }) => {
      const isOurs = kind === 'dynamic-import' && !importer.includes('node_modules')
      if (!isOurs || isBuiltin(path) || pluginData === namedExports) return undefined
      const found = await resolve(path, { kind, resolveDir, pluginData: namedExports })
      if (found.errors.length > 0 || found.external) return found
      return { path: found.path, namespace: namedExports.name, pluginData: resolveDir }
    })
    onLoad({ filter: /./, namespace: namedExports.name }, async ({ path, pluginData: resolveDir }) => {
      const found = Object.keys(await import(pathToFileURL(path).href))
      const names = found.filter((name) => name !== 'default' && /^[A-Za-z_$][\w$]*$/.test(name))
      const from = JSON.stringify(path)
      const rest = found.includes('default') ? `import all from ${from}\nexport default all\n` : ''
      return { contents: `${rest}export { ${names.join(', ')} } from ${from}`, resolveDir }
    })
  },
}

/**
 * Bundles modules, by their names in `outdir`, with everything that they import; what several of them need is in modules that
 * they share. Returns the folders of the packages in it, sorted.
 */
export async function bundle(modules, options) {
  const { metafile } = await build({
    absWorkingDir: ROOT,
    entryPoints: Object.fromEntries(Object.entries(modules).map(([name, path]) => [name, `${path}.ts`])),
    splitting: true,
    bundle: true,
    format: 'esm',
    platform: 'node',
    target: 'node20',
    banner: { js: COMMONJS },
    legalComments: 'none',
    logLevel: 'warning',
    metafile: true,
    plugins: [namedExports],
    ...options,
  })
  const used = Object.values(metafile.outputs).flatMap(({ inputs }) => Object.entries(inputs))
  return packagesOf(used.filter(([, { bytesInOutput }]) => bytesInOutput > 0).map(([file]) => file))
}

/** Returns the folders of the packages that these files belong to, from `node_modules` on, sorted. */
export function packagesOf(files) {
  const folders = files.flatMap(
    (file) => /(?<=^|\/)node_modules\/(?:.*\/node_modules\/)?(?:@[^/]+\/)?[^/]+/.exec(file) ?? [],
  )
  return [...new Set(folders)].sort((a, b) => (a < b ? -1 : 1))
}

/**
 * Fills a temporary folder and packs it into folder `to`. `fill` returns the manifest. Returns the file. The same content
 * gives the same bytes.
 */
export async function pack(to, fill) {
  const folder = mkdtempSync(join(tmpdir(), 'edged-package-'))
  try {
    const manifest = await fill(folder)
    writeFileSync(join(folder, 'package.json'), `${JSON.stringify(manifest, undefined, 2)}\n`)
    mkdirSync(to, { recursive: true })
    const printed = execFileSync('npm', ['pack', '--json', '--ignore-scripts', '--pack-destination', to], {
      cwd: folder,
      stdio: 'pipe',
      maxBuffer: 64 * 1024 * 1024,
    })
    const [{ filename, unpackedSize, entryCount }] = JSON.parse(String(printed))
    const file = join(to, filename.replace('@', '').replace('/', '-'))
    console.log(
      `${file}: ${statSync(file).size} bytes, ${unpackedSize} unpacked in ${entryCount} files, no dependencies`,
    )
    return file
  } finally {
    rmSync(folder, { recursive: true })
  }
}
