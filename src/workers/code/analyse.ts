import { performance } from 'node:perf_hooks'
import type { Node } from 'acorn'
import type { NamedExport, ScriptFormat } from '../../core/model/worker.js'
import { reject } from '../upload-errors.js'
import type { UploadedFile } from '../upload/form.js'
import { ExportsOf, resolved } from './exported.js'
import { moduleScope, parsed, type ModuleScope } from './scope.js'
import { pythonExports } from './python.js'

/** Facts about a script that its text shows without running it. */
export interface CodeReport {
  /** Of the default export, or the events that a service-worker script listens for. */
  readonly handlers: readonly string[]
  readonly named: readonly NamedExport[]
  /**
   * Time that reading the code took, in whole milliseconds. The only part of the start that is measured without running
   * the script.
   */
  readonly startup_time_ms: number
}

/** Reads the code of an upload. Throws UploadRefused for wrong syntax and for imports of modules that were not uploaded. */
export function analyse(format: ScriptFormat, main: UploadedFile, files: readonly UploadedFile[]): CodeReport {
  const begun = performance.now()
  const report =
    format === 'modules' ? modules(main, files) : format === 'python' ? pythonExports(text(main)) : serviceWorker(main)
  return { ...report, startup_time_ms: Math.round(performance.now() - begun) }
}

/** Returns whether the text of a file is read in addition to the main file. */
export const isRead = ({ type }: Pick<UploadedFile, 'type'>): boolean => type.endsWith('+module')

type Report = Omit<CodeReport, 'startup_time_ms'>

const text = ({ bytes }: UploadedFile): string => bytes.toString('utf8')

function modules(main: UploadedFile, files: readonly UploadedFile[]): Report {
  const scopes = new Map<string, ModuleScope>()
  for (const file of files) if (isRead(file)) scopes.set(file.name, moduleScope(file))
  const names = new Set(files.map(({ name }) => name))
  const missing = [...scopes.values()].flatMap(({ name, imports }) =>
    imports
      .filter((specifier) => /^\.{0,2}\//.test(specifier) && !names.has(resolved(name, specifier) ?? ''))
      .map((specifier) => `No such module "${specifier}" imported from "${name}"`),
  )
  reject(missing.map((message) => ({ kind: 'invalidScript', pointer: '/main_module', message })))
  const scope = scopes.get(main.name)
  const exported = scope ? new ExportsOf(scopes).of(scope) : new Map<string, never>()
  return {
    handlers: exported.get('default')?.handlers ?? [],
    named: [...exported].filter(([name]) => name !== 'default').map(([name, what]) => ({ name, ...what })),
  }
}

/** Reads the first argument of every `addEventListener` call. */
function serviceWorker(main: UploadedFile): Report {
  const events = new Set<string>()
  const open: unknown[] = [parsed(main, 'script')]
  for (let node = open.pop(); node !== undefined; node = open.pop()) {
    if (node === null || typeof node !== 'object') continue
    const event = listenedFor(node)
    if (event !== undefined) events.add(event)
    for (const member of Object.values(node).toReversed()) open.push(member)
  }
  return { handlers: [...events], named: [] }
}

interface Call {
  readonly callee?: { readonly name?: string; readonly property?: { readonly name?: string } }
  readonly arguments?: readonly { readonly value?: unknown }[]
}

function listenedFor(node: object): string | undefined {
  if ((node as Node).type !== 'CallExpression') return undefined
  const { callee, arguments: [first] = [] } = node as Call
  if ((callee?.name ?? callee?.property?.name) !== 'addEventListener') return undefined
  return typeof first?.value === 'string' ? first.value : undefined
}
