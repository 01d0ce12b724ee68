import { readFileSync } from 'node:fs'
import { dirname, resolve } from 'node:path'
import { isMap, isScalar, LineCounter, parseDocument, visit, type Document, type Node, type Scalar } from 'yaml'
import { InvalidInput, messageOf, type Issue } from '../core/errors.js'
import { parser } from '../core/schema.js'
import { crossCheck } from './cross-check.js'
import { ConfigFile, type Config } from './schema.js'
import { settle } from './units.js'

/** A fault of a configuration file; lines and columns count from 1. */
export interface Fault {
  readonly file: string
  readonly line: number
  readonly column: number
  readonly message: string
}

/** The configuration cannot be used. `message` has one `FILE:LINE:COL: message` a line. */
export class BadConfig extends Error {
  override readonly name = 'BadConfig'
  readonly faults: readonly Fault[]

  constructor(faults: readonly Fault[]) {
    super(faults.map(({ file, line, column, message }) => `${file}:${line}:${column}: ${message}`).join('\n'))
    this.faults = faults
  }
}

export type Environment = Readonly<Record<string, string | undefined>>

const parse = parser(ConfigFile, { defaults: true })

/** Reads a configuration file; throws {@link BadConfig} with every fault found. */
export function loadConfig(file: string, environment: Environment = process.env): Config {
  let text: string
  try {
    text = readFileSync(file, 'utf8')
  } catch (error) {
    throw new BadConfig([{ file, line: 1, column: 1, message: `cannot be read: ${messageOf(error)}` }])
  }
  return readConfig(text, file, environment)
}

/** Reads the text of a configuration file; `file` names it in messages and is what its paths are relative to. */
export function readConfig(text: string, file: string, environment: Environment = process.env): Config {
  const { document, at } = readYaml(text, file, environment)
  const fail = (issues: readonly Issue[]): never => {
    throw new BadConfig(issues.map(({ pointer, message }) => at(pointer, message)))
  }
  try {
    const config = settle(ConfigFile, parse(withoutNulls(document.toJS()) ?? {})) as Config
    const issues = crossCheck(config)
    if (issues.length > 0) fail(issues)
    return absolute(config, dirname(resolve(file)))
  } catch (error) {
    if (error instanceof InvalidInput) return fail(error.issues)
    // Aliases of aliases of aliases: the library gives up before memory does.
    if (error instanceof ReferenceError) return fail([{ pointer: '', message: 'uses aliases too often' }])
    throw error
  }
}

/** A key without a value (`secrets:` and nothing below it) is as good as absent. */
function withoutNulls(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(withoutNulls)
  if (value === null || typeof value !== 'object') return value ?? undefined
  return Object.fromEntries(
    Object.entries(value).flatMap(([key, member]) => (member === null ? [] : [[key, withoutNulls(member)]])),
  )
}

/** A YAML document with `${NAME}` replaced, and where in the file a JSON pointer points. */
function readYaml(text: string, file: string, environment: Environment) {
  const lines = new LineCounter()
  const document = parseDocument(text, { lineCounter: lines, uniqueKeys: true })
  const place = (offset: number, message: string): Fault => {
    const { line, col } = lines.linePos(offset)
    return { file, line: Math.max(line, 1), column: Math.max(col, 1), message }
  }
  const faults = document.errors.map(({ code, pos: [start], message }) =>
    place(
      start,
      code === 'MULTIPLE_DOCS' ? 'a second document begins here' : (message.split(' at line')[0] ?? message),
    ),
  )
  visit(document, {
    Alias(_key, alias) {
      if (!alias.resolve(document)) faults.push(place(alias.range?.[0] ?? 0, `*${alias.source} is no anchor above`))
    },
  })
  if (faults.length === 0) faults.push(...substitute(document, environment, place))
  if (faults.length > 0) throw new BadConfig(faults)
  return {
    document,
    at: (pointer: string, message: string): Fault =>
      place(offsetOf(document, pointer), pointer ? `${pointer.slice(1).replaceAll('/', '.')} ${message}` : message),
  }
}

const REFERENCE = /\$\$\{|\$\{([A-Za-z_][A-Za-z0-9_]*)(?::-([^}]*))?\}/g

/** Replaces `${NAME}` and `${NAME:-default}` inside scalar values; `$${` writes a literal `${`. */
function substitute(document: Document, environment: Environment, place: (offset: number, message: string) => Fault) {
  const faults: Fault[] = []
  visit(document, {
    Scalar(key, node: Scalar) {
      if (key === 'key' || typeof node.value !== 'string' || !node.value.includes('${')) return
      const text = node.value.replaceAll(REFERENCE, (all, name?: string, otherwise?: string) => {
        if (name === undefined) return '${'
        const value = environment[name]
        if (value !== undefined && value !== '') return value
        if (otherwise === undefined)
          faults.push(
            place(node.range?.[0] ?? 0, `the environment has no ${name}; set it, or write \${${name}:-default}`),
          )
        return otherwise ?? all
      })
      // A plain scalar is read again, so that ${PORT} may give a number; a quoted one stays text.
      node.value = node.type === 'PLAIN' ? retyped(text) : text
    },
  })
  return faults
}

function retyped(text: string): unknown {
  if (/^-?(0|[1-9]\d{0,14})$/.test(text)) return Number(text)
  if (text === 'true' || text === 'false') return text === 'true'
  return text
}

/** Where a JSON pointer points: the key of a member, an item of a list, or the nearest thing around what is missing. */
function offsetOf(document: Document, pointer: string): number {
  let node: unknown = document.contents
  let offset = (node as Node | null)?.range?.[0] ?? 0
  for (const token of pointer.split('/').slice(1)) {
    const step = token.replaceAll('~1', '/').replaceAll('~0', '~')
    if (isMap(node)) {
      const pair = node.items.find(({ key }) => isScalar(key) && String(key.value) === step)
      if (!pair) break
      offset = (pair.key as Node).range?.[0] ?? offset
      node = pair.value
    } else {
      node = (node as { items?: unknown[] } | null)?.items?.[Number(step)]
      offset = (node as Node | undefined)?.range?.[0] ?? offset
    }
  }
  return offset
}

/** Paths of the file are relative to it. */
function absolute(config: Config, folder: string): Config {
  const data = resolve(folder, config.data)
  const { key_file: keyFile, ...secrets } = config.secrets
  return {
    ...config,
    data,
    secrets: { ...secrets, key_file: keyFile === undefined ? resolve(data, 'secret.key') : resolve(folder, keyFile) },
    geo: Object.fromEntries(Object.entries(config.geo).map(([name, path]) => [name, resolve(folder, path)])),
    zones: config.zones.map((zone) =>
      zone.origin_ca_file === undefined ? zone : { ...zone, origin_ca_file: resolve(folder, zone.origin_ca_file) },
    ),
  }
}
