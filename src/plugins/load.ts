/*
 * Loads plug-ins. They have to be loaded before any module that uses the tables: schemas and other tables are derived
 * from them when their modules are loaded.
 */
import { existsSync } from 'node:fs'
import { pathToFileURL } from 'node:url'
import { messageOf } from '../core/errors.js'
import { addRow, PluginFault, TABLES, type TableName } from '../core/extension/tables.js'
import { pluginFiles } from '../config/plugins.js'
import { Type } from './schema-builder.js'

/** Maximum time for the module of a plug-in and its default export. */
const LOAD_MS = 30_000

const loaded: string[] = []

/** Absolute paths of the plug-ins of this process, for its threads and child processes. */
export const loadedPlugins = (): readonly string[] => loaded

/** Loads the plug-ins that a configuration or pipeline file names. Throws a BadConfig. */
export async function loadPluginsOf(file: string): Promise<void> {
  const { paths, reject } = pluginFiles(file)
  try {
    await loadPlugins(paths)
  } catch (error) {
    if (!(error instanceof PluginFault)) throw error
    reject(paths.indexOf(error.file), `${error.file} cannot be used: ${error.message}; see docs/plugins.md`)
  }
}

/** Loads plug-ins by their absolute paths, one after the other, and builds the tables. Throws a PluginFault. */
export async function loadPlugins(paths: readonly string[]): Promise<void> {
  if (paths.length === 0) return
  for (const path of paths) {
    await registered(path)
    loaded.push(path)
  }
  // A name that exists already is reported now, with the plug-in.
  await Promise.all([
    import('../../pipelines/records/datasets/index.js'),
    import('../../sinks/index.js'),
    import('../config/pipeline-sources.js'),
    import('../expr/fields/index.js'),
    import('../expr/functions/index.js'),
    import('../rules/actions/index.js'),
  ])
}

async function registered(path: string): Promise<void> {
  let timer: NodeJS.Timeout | undefined
  const late = new Promise<never>((_resolve, reject) => {
    timer = setTimeout(() => reject(new Error(`it was not loaded within ${LOAD_MS / 1000} s`)), LOAD_MS)
  })
  try {
    await Promise.race([register(path), late])
  } catch (error) {
    throw error instanceof PluginFault ? error : new PluginFault(path, firstLine(messageOf(error)), error)
  } finally {
    clearTimeout(timer)
  }
}

const firstLine = (text: string): string => text.split('\n', 1)[0] ?? ''

async function register(path: string): Promise<void> {
  // The runtime's own error would name a module of edged as well.
  if (!existsSync(path)) throw new Error('the file does not exist')
  const module = (await import(pathToFileURL(path).href)) as { readonly default?: unknown }
  if (typeof module.default !== 'function') throw new Error('its default export must be a function (edged) => { ... }')
  const rows = TABLES.map((table) => [table, (row: unknown) => addRow(table, row, path)] as const)
  const edged = { Type, ...(Object.fromEntries(rows) as Record<TableName, (row: unknown) => void>) }
  await (module.default as (edged: object) => unknown)(Object.freeze(edged))
}
