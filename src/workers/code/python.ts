import type { ExportKind, NamedExport } from '../../core/model/worker.js'

const BASES: Readonly<Record<string, ExportKind>> = {
  DurableObject: 'durable-object',
  WorkerEntrypoint: 'entrypoint',
  WorkflowEntrypoint: 'workflow',
}
const HANDLERS: ReadonlySet<string> = new Set(['fetch', 'scheduled', 'queue', 'email', 'tail', 'alarm', 'run'])

/** Classes and handlers of a Python module: `class Default(WorkerEntrypoint)`, or functions such as `on_fetch`. */
export function pythonExports(code: string): { handlers: string[]; named: NamedExport[] } {
  const handlers: string[] = []
  const classes: { name: string; kind: ExportKind; handlers: string[] }[] = []
  let current: (typeof classes)[number] | undefined
  for (const line of code.split('\n')) {
    const [, name, bases] = /^class\s+(\w+)\s*(?:\(([^)]*)\)\s*)?:/.exec(line) ?? []
    const [, indent, method = ''] = /^(\s*)(?:async\s+)?def\s+(\w+)/.exec(line) ?? []
    if (name !== undefined) {
      const base = (bases ?? '').split(',').map((one) => one.trim().split('.').at(-1) ?? '')
      const known = base.find((one) => Object.hasOwn(BASES, one))
      current = { name, kind: (known !== undefined && BASES[known]) || 'class', handlers: [] }
      classes.push(current)
    } else if (indent === '') {
      current = undefined
      if (method.startsWith('on_') && HANDLERS.has(method.slice(3))) handlers.push(method.slice(3))
    } else if (indent !== undefined && current && HANDLERS.has(method)) {
      current.handlers.push(method)
    } else if (/^\S/.test(line)) {
      current = undefined
    }
  }
  const main = classes.find(({ name, kind }) => name === 'Default' && kind === 'entrypoint')
  return { handlers: main?.handlers ?? handlers, named: classes.filter((one) => one !== main) }
}
