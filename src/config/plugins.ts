import { dirname, resolve } from 'node:path'
import { isMap, isSeq } from 'yaml'
import { Type } from 'typebox'
import { readText, readYaml, type Environment } from './yaml.js'

/** Maximum number of plug-ins of a file. */
const MAX_PLUGINS = 64

/** The option `plugins` of configuration and pipeline files. */
export const Plugins = Type.Array(Type.String({ minLength: 1 }), {
  default: [],
  maxItems: MAX_PLUGINS,
  uniqueItems: true,
  description:
    'JavaScript modules that add destinations, sources, datasets, actions, fields and functions; paths relative to this ' +
    'file. A plug-in runs with all rights of the process.',
  examples: [['./plugins/my-sink.mjs']],
})

/** The plug-ins that a file names. */
export interface PluginFiles {
  /** Absolute paths. */
  readonly paths: readonly string[]
  /** Throws a BadConfig with the position of a plug-in in the file. */
  readonly reject: (index: number, message: string) => void
}

const NONE: PluginFiles = { paths: [], reject: () => undefined }

/** Reads which plug-ins a configuration or pipeline file names. The form of the option is checked later, with the file. */
export function pluginFiles(file: string, environment: Environment = process.env): PluginFiles {
  const text = readText(file)
  // Files with thousands of zones take a second to parse.
  if (!text.includes('plugins')) return NONE
  const yaml = readYaml(text, file, environment)
  const { contents } = yaml.document
  const listed = isMap(contents) ? contents.get('plugins', true) : undefined
  const names: unknown[] = isSeq(listed) ? (listed.toJS(yaml.document) as unknown[]) : []
  return {
    paths: names.slice(0, MAX_PLUGINS).map((name) => resolve(dirname(resolve(file)), String(name))),
    reject(index, message) {
      yaml.checked((_value, reject) => reject([{ pointer: `/plugins/${index}`, message }]))
    },
  }
}
