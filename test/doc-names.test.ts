import { readFileSync } from 'node:fs'
import { Command } from 'commander'
import t, { type Test } from 'tap'
import { globSync } from 'tinyglobby'
import type { DefineCommand } from '../src/commands/common/command.js'
import { schema } from '../src/commands/schema.js'
import { ConfigFile } from '../src/config/schema.js'
import { BLOCKS } from './helpers/doc-blocks.js'

const PAGES = ['README.md', ...globSync('docs/*.md')]
const TEXTS = PAGES.map((page) => [page, readFileSync(page, 'utf8').replaceAll('\\|', '|')] as const)

/** Code inside sentences and tables, with its page. */
const SPANS = TEXTS.flatMap(([page, text]) =>
  [...text.replaceAll(/^ *(```+).*?^ *\1$/gms, '').matchAll(/`([^`\n]+)`/g)].map(
    ([, code = '']) => [page, code] as const,
  ),
)
const CODE = sources(['src', 'control', 'pipelines', 'sinks'])

function sources(folders: readonly string[]): string {
  return globSync(folders.map((folder) => `${folder}/**/*.ts`))
    .map((file) => readFileSync(file, 'utf8'))
    .join('\n')
}

/** Commands of edged in sentences, tables and blocks: name and arguments. */
const COMMANDS = [
  ...SPANS,
  ...BLOCKS.flatMap(({ page, text }) => text.split('\n').map((line) => [page, line.replace(/\s#\s.*/, '')] as const)),
].flatMap(([page, text]) =>
  [
    ...text.matchAll(
      /(?:^|&& |\| )(?:EDGED_TOKEN=\S+ )?(?:npx )?(?:\.\/edged-\S+\.tgz|edged) ([a-z]+(?:-[a-z]+)*)\b([^&|]*)/g,
    ),
  ].map(([, name = '', rest = '']) => ({ page, name, rest: rest.replaceAll(/'[^']*'|"[^"]*"/g, 'TEXT') })),
)

/** Defines a command as `edged` does. Its file has its name. */
async function defined(name: string): Promise<Command> {
  const command = new Command(name)
  const file = (await import(`../src/commands/${name}.js`)) as Record<string, DefineCommand>
  // `import` is no name of a constant, so its file has another one.
  const define = file[name] ?? Object.values(file).find((each) => typeof each === 'function')
  define!(command)
  return command
}

t.test('commands in the documentation exist, with their options', async (t) => {
  t.ok(COMMANDS.length > 60)
  const known = new Map<string, Command>()
  for (const { page, name, rest } of COMMANDS) {
    if (!known.has(name)) known.set(name, await defined(name))
    const words = rest.trim().split(/\s+/)
    const command = known.get(name)!
    const target = command.commands.find((one) => one.name() === words[0]) ?? command
    for (const [option] of rest.matchAll(/(?<=[\s[])--?[a-z][\w-]*/g)) {
      if (option === '--help') continue
      const found = target.options.some(({ long, short }) => option === long || option === short)
      t.ok(found, `${page}: edged ${name} ${option}`)
    }
  }
})

t.test('the page about configuration names every command', async (t) => {
  const page = readFileSync('docs/configuration.md', 'utf8')
  for (const [, name = ''] of readFileSync('src/cli.ts', 'utf8').matchAll(/import\('\.\/commands\/([\w-]+)\.js'\)/g))
    t.ok(page.includes(`edged ${name}`), `edged ${name}`)
})

/** Paths of the API: each parameter is `{}`. */
async function apiPaths(t: Test): Promise<Map<string, ReadonlySet<string>>> {
  const out = t.capture(process.stdout, 'write', () => true)
  const command = new Command('schema').exitOverride()
  schema(command)
  await command.parseAsync(['openapi'], { from: 'user' })
  const printed = out()
    .map(({ args }) => String(args[0]))
    .join('')
  out.restore()
  const { paths } = JSON.parse(printed) as { paths: Record<string, object> }
  return new Map(
    Object.entries(paths).map(([path, methods]) => [
      path.replaceAll(/\{[^}]*\}/g, '{}'),
      new Set(Object.keys(methods)),
    ]),
  )
}

/** Paths of other listeners, which the API document does not have. */
const ELSEWHERE = new Set(['/openapi.json', '/livez', '/readyz', '/metrics', '/status', '/reload', '/backup'])

t.test('endpoints in the documentation exist', async (t) => {
  const paths = await apiPaths(t)
  const exists = (method: string | undefined, path: string): boolean => {
    const plain = path
      .replace(/\?.*/, '')
      .replace('/client/v4', '')
      .replace('{accounts|zones}', 'zones')
      .replaceAll(/\{[^}]*\}/g, '{}')
    if (ELSEWHERE.has(plain)) return true
    const fits = (known: string): boolean =>
      plain.startsWith('...') || method === undefined ? known.endsWith(plain.replace('...', '')) : known === plain
    return [...paths].some(
      ([known, methods]) => fits(known) && (method === undefined || methods.has(method.toLowerCase())),
    )
  }
  let count = 0
  for (const [page, code] of SPANS)
    for (const [, method, path = ''] of code.matchAll(
      /^(?:(GET|POST|PUT|PATCH|DELETE) (?=[/.])|(?=\/edged\/\w))(\S+)$/g,
    )) {
      count += 1
      t.ok(exists(method, path), `${page}: ${code}`)
    }
  t.ok(count > 20)
})

/** What a schema of the configuration says about its members. */
interface Schema {
  readonly properties?: Readonly<Record<string, Schema>>
  readonly patternProperties?: object
  readonly items?: Schema
  readonly anyOf?: readonly Schema[]
}

/** Returns whether a schema has an option, for example `proxy.tls.acme`. */
function hasOption(schema: Schema, [name, ...rest]: readonly string[]): boolean {
  if (name === undefined) return true
  const inner = schema.properties?.[name]
  if (inner !== undefined) return hasOption(inner, rest)
  if (schema.patternProperties !== undefined) return true
  return [...(schema.anyOf ?? []), ...(schema.items ? [schema.items] : [])].some((one) =>
    hasOption(one, [name, ...rest]),
  )
}

t.test('options in the documentation exist', async (t) => {
  const sections = Object.keys(ConfigFile.properties)
  const options = SPANS.flatMap(([page, code]) => {
    const [, option = ''] = /^([a-z_]+(?:\.[a-z_]+)+)(?::.*)?$/.exec(code) ?? []
    return sections.includes(option.split('.')[0]!) ? [[page, option] as const] : []
  })
  t.ok(options.length > 30)
  for (const [page, option] of options) t.ok(hasOption(ConfigFile as Schema, option.split('.')), `${page}: ${option}`)
})

t.test('metrics in the documentation exist', async (t) => {
  const names = TEXTS.flatMap(([page, text]) =>
    [...text.matchAll(/\bedged_[a-z_]+/g)].map(([name]) => [page, name] as const),
  )
  t.ok(names.length > 15)
  // Those of pipelines are put together from their last part.
  const known = (name: string) =>
    CODE.includes(name) || CODE.includes(`'${name.replace(/^edged_pipeline_|_total$/g, '')}'`)
  for (const [page, name] of names) t.ok(known(name), `${page}: ${name}`)
})
