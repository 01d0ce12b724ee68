import { isMainThread } from 'node:worker_threads'
import type { Expression, Node, Program, Statement, ModuleDeclaration } from 'acorn'
import { messageOf } from '../../core/errors.js'
import { UploadRefused } from '../upload-errors.js'
import { modulePointer, type UploadedFile } from '../upload/form.js'
import { CodeParser, TooDeep } from './parser.js'

/** The target of a top-level name: code of the module, or a name of another module. */
export type Meaning =
  | { readonly kind: 'code'; readonly node: Node }
  | { readonly kind: 'import'; readonly from: string; readonly name: string }

/** The top level of one module. Maps its names and exports to their targets. */
export interface ModuleScope {
  readonly name: string
  readonly locals: ReadonlyMap<string, Meaning>
  readonly exports: ReadonlyMap<string, Meaning>
  /** Modules that `export *` names. */
  readonly stars: readonly string[]
  /** Every module that it imports, with dynamic imports left out. */
  readonly imports: readonly string[]
}

/** Reads a module. Throws UploadRefused if its syntax is invalid. */
export function moduleScope(file: UploadedFile): ModuleScope {
  const { name } = file
  const locals = new Map<string, Meaning>()
  const exports = new Map<string, Meaning>()
  const stars: string[] = []
  const imports: string[] = []
  const program = parsed(file, 'module')
  for (const statement of program.body) declare(statement, locals)
  const meaning = (local: string, node: Node): Meaning => locals.get(local) ?? { kind: 'code', node }
  for (const statement of program.body) {
    if ('source' in statement && statement.source) imports.push(String(statement.source.value))
    if (statement.type === 'ExportAllDeclaration') {
      const from = String(statement.source.value)
      if (statement.exported) exports.set(textOf(statement.exported), { kind: 'import', from, name: '*' })
      else stars.push(from)
    } else if (statement.type === 'ExportDefaultDeclaration') {
      exports.set('default', { kind: 'code', node: statement.declaration })
    } else if (statement.type === 'ExportNamedDeclaration') {
      for (const { local, exported } of statement.specifiers) {
        const from = statement.source && String(statement.source.value)
        const inner = textOf(local)
        exports.set(textOf(exported), from ? { kind: 'import', from, name: inner } : meaning(inner, local))
      }
      if (statement.declaration) {
        const declared = new Map<string, Meaning>()
        declare(statement.declaration, declared)
        for (const [local, found] of declared) exports.set(local, found)
      }
    }
  }
  return { name, locals, exports, stars, imports }
}

/**
 * Returns the syntax tree of a module or a script. Throws UploadRefused. In the main thread, throws TooDeep for code
 * that a thread with a larger stack can read.
 */
export function parsed(file: UploadedFile, sourceType: 'module' | 'script'): Program {
  const { name, bytes } = file
  try {
    return CodeParser.parse(bytes.toString('utf8'), { ecmaVersion: 'latest', sourceType, allowHashBang: true })
  } catch (error) {
    if (error instanceof TooDeep && isMainThread) throw error
    const { loc } = error as { loc?: { line: number; column: number } }
    const where = loc ? `${name}:${loc.line}:${loc.column + 1}` : name
    const what =
      error instanceof SyntaxError ? messageOf(error).replace(/ \(\d+:\d+\)$/, '') : 'is nested too deeply to be read'
    const message = `Uncaught SyntaxError: ${what} at ${where}`
    throw new UploadRefused([{ kind: 'invalidScript', pointer: modulePointer(file), message }])
  }
}

function declare(statement: Statement | ModuleDeclaration, into: Map<string, Meaning>): void {
  if (statement.type === 'ImportDeclaration') {
    const from = String(statement.source.value)
    for (const specifier of statement.specifiers) {
      const name =
        specifier.type === 'ImportSpecifier'
          ? textOf(specifier.imported)
          : specifier.type === 'ImportDefaultSpecifier'
            ? 'default'
            : '*'
      into.set(specifier.local.name, { kind: 'import', from, name })
    }
  } else if (statement.type === 'VariableDeclaration') {
    for (const { id, init } of statement.declarations)
      if (id.type === 'Identifier') into.set(id.name, { kind: 'code', node: init ?? id })
  } else if (statement.type === 'ClassDeclaration' || statement.type === 'FunctionDeclaration') {
    into.set(statement.id.name, { kind: 'code', node: statement })
  } else if (statement.type === 'ExportNamedDeclaration' && statement.declaration) {
    declare(statement.declaration, into)
  } else if (statement.type === 'ExportDefaultDeclaration') {
    const { declaration } = statement
    if ('id' in declaration && declaration.id) into.set(declaration.id.name, { kind: 'code', node: declaration })
  } else if (statement.type === 'ExpressionStatement') {
    assign(statement.expression, into)
  }
}

/** `X = class ...` at the top level, as bundlers write for names declared above. */
function assign(expression: Expression, into: Map<string, Meaning>): void {
  if (expression.type !== 'AssignmentExpression' || expression.operator !== '=') return
  const { left, right } = expression
  const known = left.type === 'Identifier' ? into.get(left.name) : undefined
  if (left.type === 'Identifier' && known?.kind === 'code' && known.node.type === 'Identifier')
    into.set(left.name, { kind: 'code', node: right })
}

const textOf = (node: { type: string; name?: string; value?: unknown }): string =>
  node.type === 'Identifier' ? (node.name ?? '') : String(node.value)
