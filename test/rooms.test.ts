import { execFileSync } from 'node:child_process'
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join, relative } from 'node:path'
import t, { type Test } from 'tap'
import { globSync } from 'tinyglobby'
import { GROUNDS, IO_MODULES, lintOverrides, ROOMS, TOP } from './helpers/rooms.js'

const FOLDERS = ['src', 'control', 'pipelines', 'sinks']
const FILES = globSync(FOLDERS.map((folder) => `${folder}/**/*.ts`)).sort()
const IMPORT = /^(?:import|export)\s+(type\s+)?(?:[^'"();]*?\sfrom\s+)?'([^']+)'|\bimport\('([^']+)'\)/gm

interface Import {
  readonly from: string
  readonly to: string
  readonly typeOnly: boolean
}

/** All imports of a file, types included. Those of ours are paths, others are specifiers. */
function importsOf(from: string): Import[] {
  return [...readFileSync(from, 'utf8').matchAll(IMPORT)].map(([, type, specifier = '', dynamic = '']) => {
    const name = specifier || dynamic
    const to = name.startsWith('.') ? join(dirname(from), name).replace(/\.js$/, '.ts') : name
    return { from, to, typeOnly: type !== undefined }
  })
}

const IMPORTS = FILES.flatMap(importsOf)

const isBelow = (file: string, folder: string) => file.startsWith(`${folder}/`)
const roomOf = (file: string) => Object.keys(ROOMS).find((room) => isBelow(file, room))

function isAllowed({ from, to, typeOnly }: Import): boolean {
  const only = Object.entries(TOP).find(([room]) => isBelow(to, room) && !isBelow(from, room))?.[1]
  if (only !== undefined && !only.some((start) => from.startsWith(start))) return false
  const name = roomOf(from)
  if (name === undefined) return true
  const { may = [], files = [], types = [], pure } = ROOMS[name]!
  if (!FOLDERS.some((folder) => isBelow(to, folder)))
    return !pure || !IO_MODULES.includes(to.replace(/^(node:fs)\/.*/, '$1/*'))
  return (
    [name, 'src/core', ...may].some((room) => isBelow(to, room)) ||
    files.includes(to) ||
    (typeOnly && types.includes(to))
  )
}

t.test('every import, types included, is in the table of rooms', async (t) => {
  t.ok(IMPORTS.length > FILES.length, 'imports are found')
  const wrong = IMPORTS.filter((each) => !isAllowed(each)).map(({ from, to }) => `${from} imports ${to}`)
  t.strictSame(wrong, [])
})

/** The folders of the proxy that may import more or less than the exchange. */
const EDGE: Readonly<Record<string, readonly string[]>> = {
  balancing: [],
  agents: ['exchange', 'client'],
  exchange: ['balancing', 'cache/entries/types'],
  compression: ['exchange', 'cache/entries'],
  cache: ['exchange', 'rules/cache-rules'],
  rules: ['exchange', 'challenge', 'client/request-body'],
  markdown: ['exchange', 'compression', 'cache/entries'],
  origins: ['exchange', 'balancing'],
}

t.test('the stages of the proxy know the exchange, and only its roof (`serve`) knows all of them', async (t) => {
  const inEdge = IMPORTS.filter(({ from, to }) => isBelow(from, 'src/edge') && isBelow(to, 'src/edge'))
  const wrong = inEdge.filter(({ from, to }) => {
    const [, , room = ''] = from.split('/')
    const target = to.slice('src/edge/'.length)
    const may = room === 'serve' ? undefined : [room, ...(EDGE[room] ?? ['exchange'])]
    return may !== undefined && !may.some((each) => isBelow(target, each) || target === `${each}.ts`)
  })
  t.strictSame(
    wrong.map(({ from, to }) => `${from} imports ${to}`),
    [],
  )
})

t.test('the table of ARCHITECTURE.md names the same rooms', async (t) => {
  const nearest = (name: string) =>
    Object.keys(ROOMS).find((room) => name === room || isBelow(name, room)) ?? name.replace(/\.ts$/, '')
  const rows = new Map<string, ReadonlySet<string>>()
  for (const line of readFileSync('ARCHITECTURE.md', 'utf8').split('\n')) {
    const [, rooms = [], targets = []] = line
      .replaceAll(/\([^)]*\)/g, '')
      .split('|')
      .map((cell) => [...cell.matchAll(/`((?:src|control|pipelines|sinks)[^`]*)`/g)].map(([, name = '']) => name))
    for (const room of rooms) rows.set(room, new Set(targets.map(nearest)))
  }
  // Every area of the API may import these.
  const common = new Set(['control/http', 'control/resources', 'src/config'])
  for (const [room, { may = [], files = [], types = [] }] of Object.entries(ROOMS)) {
    const isArea = may.includes('control/resources')
    const others = (names: Iterable<string>) =>
      [...new Set(names)].filter((name) => name !== room && !(isArea && common.has(name))).sort()
    const named = rows.get(room)
    if (named === undefined) t.fail(`no row for ${room}`)
    else t.strictSame(others(named), others([...may, ...[...files, ...types].map(nearest)]), room)
  }
})

t.test('every folder is a room, and every room is a folder', async (t) => {
  const folders = FOLDERS.flatMap((top) =>
    top === 'sinks'
      ? [top]
      : readdirSync(top, { withFileTypes: true }).flatMap((entry) =>
          entry.isDirectory() ? [`${top}/${entry.name}`] : [],
        ),
  )
  t.strictSame(folders.sort(), [...Object.keys(ROOMS), ...Object.keys(TOP)].sort())
  const loose = FILES.filter((file) => dirname(file) === 'src' || dirname(file) === 'control')
  t.strictSame(loose, ['control/index.ts', 'src/cli.ts'])
})

/** Returns the nodes that are in a ring of imports, or between rings. */
function ringsOf(nodes: Iterable<string>, imports: Iterable<readonly [from: string, to: string]>): string[] {
  const next = new Map([...nodes].map((node) => [node, new Set<string>()]))
  for (const [from, to] of imports) if (from !== to && next.has(to)) next.get(from)?.add(to)
  // Removes nodes that import no remaining node until none is left.
  for (let removed = true; removed;) {
    removed = false
    for (const [node, targets] of next) {
      if ([...targets].some((target) => next.has(target))) continue
      next.delete(node)
      removed = true
    }
  }
  return [...next.keys()]
}

t.test('no rooms import each other in a ring', async (t) => {
  const between = IMPORTS.flatMap(({ from, to }): [string, string][] => {
    const [a, b] = [roomOf(from), roomOf(to)]
    return a !== undefined && b !== undefined ? [[a, b]] : []
  })
  t.strictSame(ringsOf(Object.keys(ROOMS), between), [])
})

t.test('no folders import each other in a ring', async (t) => {
  const between = IMPORTS.map(({ from, to }): [string, string] => [dirname(from), dirname(to)])
  t.strictSame(ringsOf(new Set(FILES.map((file) => dirname(file))), between), [])
})

t.test('no folder has more than 30 files beside its folders', async (t) => {
  const counts = new Map<string, number>()
  for (const file of FILES) counts.set(dirname(file), (counts.get(dirname(file)) ?? 0) + 1)
  t.strictSame(
    [...counts].filter(([, count]) => count > 30),
    [],
  )
})

const LINT = JSON.parse(readFileSync('.oxlintrc.json', 'utf8')) as {
  overrides: object[]
  rules: Record<string, unknown>
}

t.test('the ground of a room imports none of its folders', async (t) => {
  for (const room of GROUNDS) {
    t.ok(
      FILES.some((file) => dirname(file) === room),
      `${room} has loose files`,
    )
    const wrong = IMPORTS.filter(({ from, to }) => dirname(from) === room && isBelow(to, room) && dirname(to) !== room)
    t.strictSame(
      wrong.map(({ from, to }) => `${from} imports ${to}`),
      [],
    )
  }
})

t.test('the proxy does not load the add-on that keeps HTML', async (t) => {
  const loaded = new Set(FILES.filter((file) => isBelow(file, 'src/edge')))
  for (const file of loaded)
    for (const { from, to, typeOnly } of IMPORTS) if (from === file && !typeOnly) loaded.add(to)
  t.ok(loaded.has('pipelines/markdown/convert.ts'), 'it loads the conversion')
  t.strictSame(
    [...loaded].filter((file) => isBelow(file, 'pipelines/markdown/kept')),
    [],
  )
})

t.test('lint has one override per room, made from the table', async (t) => {
  const found = LINT.overrides.filter((each) => 'no-restricted-imports' in (each as { rules: object }).rules)
  t.strictSame(found, lintOverrides(), 'print them again: npx tsx test/helpers/print-lint.ts')
  t.strictSame(LINT.rules['import/no-cycle'], ['error', { ignoreTypes: false }])
})

/** Lints files in a folder of their own with the rules of the repository; returns the messages. */
function lint(t: Test, files: Record<string, string>): string {
  // Outside of the repository: lint skips what git ignores.
  const folder = mkdtempSync(join(tmpdir(), 'edged-lint-'))
  t.teardown(() => rmSync(folder, { recursive: true }))
  for (const [name, text] of Object.entries(files)) {
    mkdirSync(join(folder, dirname(name)), { recursive: true })
    writeFileSync(join(folder, name), text)
  }
  writeFileSync(join(folder, '.oxlintrc.json'), JSON.stringify(LINT))
  try {
    return execFileSync(join(process.cwd(), 'node_modules/.bin/oxlint'), ['-f', 'unix', '.'], {
      cwd: folder,
      encoding: 'utf8',
    })
  } catch (error) {
    return (error as { stdout: string }).stdout
  }
}

t.test('lint reports a forbidden import of every room, and no allowed one', async (t) => {
  const files: Record<string, string> = {}
  const wanted: string[] = []
  const path = (from: string, to: string) => relative(from, to).replace(/^(?=\w)/, './')
  for (const [name, { may = [], files: single = [], types = [], pure }] of Object.entries(ROOMS)) {
    const others = [...Object.keys(ROOMS), ...Object.keys(TOP)].filter((room) => room !== name)
    for (const depth of ['', '/inner']) {
      const from = `${name}${depth}`
      for (const [index, room] of others.entries()) {
        const isDenied = room !== 'src/core' && !may.includes(room)
        const file = `${from}/to-${index}.ts`
        files[file] = `export type { A } from '${path(from, `${room}/any-file.js`)}'\n`
        if (isDenied) wanted.push(file)
      }
      for (const [index, target] of [...single, ...types].entries())
        files[`${from}/single-${index}.ts`] = `export type { A } from '${path(from, target.replace(/ts$/, 'js'))}'\n`
      files[`${from}/io.ts`] = `export { x } from 'node:net'\n`
      if (pure) wanted.push(`${from}/io.ts`)
    }
  }
  for (const room of GROUNDS) {
    files[`${room}/down.ts`] = `export type { A } from './any/file.js'\n`
    wanted.push(`${room}/down.ts`)
    files[`${room}/inner/up.ts`] = `export type { A } from '../file.js'\n`
  }
  files['src/disk/ring-a.ts'] = `import type { B } from './ring-b.js'\nexport interface A { b: B }\n`
  files['src/disk/ring-b.ts'] = `import type { A } from './ring-a.js'\nexport interface B { a: A }\n`
  const found = new Set(
    lint(t, files)
      .split('\n')
      .flatMap((line) => /([\w/-]+\.ts):\d+:\d+: .*\((no-restricted-imports|no-cycle)\)/.exec(line)?.[1] ?? []),
  )
  t.strictSame([...found].filter((file) => !file.includes('ring')).sort(), wanted.sort())
  t.ok(found.has('src/disk/ring-a.ts'), 'a ring of types is reported')
})
