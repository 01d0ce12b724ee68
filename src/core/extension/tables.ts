/*
 * The tables of the product that plug-ins can add rows to. A plug-in registers its rows before any table is built. A
 * table is built when its module is loaded, and does not change afterwards.
 */
import { messageOf } from '../errors.js'

export const TABLES = ['sink', 'source', 'action', 'function', 'field', 'dataset'] as const
export type TableName = (typeof TABLES)[number]

/** A row as a plug-in gave it. Its members are not checked yet. */
export type GivenRow = Readonly<Record<string, unknown>>

/** A plug-in cannot be used. The message says why, and `file` is its path. */
export class PluginFault extends Error {
  override readonly name = 'PluginFault'
  readonly file: string

  constructor(file: string, message: string, cause?: unknown) {
    super(message, { cause })
    this.file = file
  }
}

interface AddedRow {
  readonly row: GivenRow
  readonly file: string
}

const added = new Map<TableName, AddedRow[]>(TABLES.map((name) => [name, []]))
const built = new Set<TableName>()

/** Adds the row of the plug-in in `file` to a table that is not built yet. */
export function addRow(table: TableName, row: unknown, file: string): void {
  if (typeof row !== 'object' || row === null) throw new PluginFault(file, `edged.${table}() expects an object`)
  if (built.has(table))
    throw new PluginFault(file, `edged.${table}() was called too late; call it in the default export`)
  added.get(table)!.push({ row: row as GivenRow, file })
}

export interface TableOptions<T> {
  /** Rows of the product itself. */
  readonly own: readonly T[]
  /** Returns the name of a row, unique in the table. */
  readonly key: (row: T) => string
  /** Checks the row of a plug-in and converts it to a row of the table. Throws if the row is not valid. */
  readonly complete: (row: GivenRow) => T
}

/** Builds a table: the product's own rows, and after them the rows of plug-ins. Throws a PluginFault. */
export function tableOf<T>(name: TableName, { own, key, complete }: TableOptions<T>): readonly T[] {
  built.add(name)
  const names = new Set<string>()
  for (const row of own) {
    if (names.has(key(row))) throw new Error(`two rows of the ${name} table have the name ${key(row)}`)
    names.add(key(row))
  }
  const further = added.get(name)!.map(({ row, file }) => {
    const completed = completedBy(file, name, () => complete(row))
    if (names.has(key(completed)))
      throw new PluginFault(file, `edged.${name}(): ${key(completed)} exists already; choose another name`)
    names.add(key(completed))
    return completed
  })
  return Object.freeze([...own, ...further])
}

function completedBy<T>(file: string, table: TableName, complete: () => T): T {
  try {
    return complete()
  } catch (error) {
    throw new PluginFault(file, `edged.${table}(): ${messageOf(error)}`, error)
  }
}
