import { readFilter } from './filter-text.js'
import { parseTemplate, TemplateError } from './template.js'

/** Where fields are named. Members are as they were written, valid or not. */
export interface FieldUse {
  readonly filter?: unknown
  readonly output_options?: unknown
  readonly key_field?: string | undefined
}

/**
 * Returns the fields that a job for records of any shape names. Ignores invalid settings, which are reported by their
 * checks.
 */
export function namedFields({ filter, output_options: options, key_field: key }: FieldUse): Set<string> {
  const names = new Set<string>(key === undefined ? [] : [key])
  if (isObject(options)) {
    const { field_names: listed, record_template: template } = options
    if (Array.isArray(listed)) for (const name of listed) if (typeof name === 'string') names.add(name)
    if (typeof template === 'string') for (const name of templateFields(template)) names.add(name)
  }
  addKeys(filterOf(filter), names)
  return names
}

const isObject = (value: unknown): value is Record<string, unknown> => typeof value === 'object' && value !== null

function templateFields(template: string): string[] {
  try {
    return parseTemplate(template, { pointers: true }).flatMap((part) =>
      part instanceof Uint8Array ? [] : [part.field],
    )
  } catch (error) {
    if (error instanceof TemplateError) return []
    throw error
  }
}

function filterOf(filter: unknown): unknown {
  if (filter === '' || filter === undefined) return undefined
  try {
    return readFilter(filter)
  } catch {
    return undefined
  }
}

function addKeys(node: unknown, names: Set<string>): void {
  if (Array.isArray(node)) for (const each of node) addKeys(each, names)
  else if (isObject(node)) {
    const { key, where, and, or } = node
    if (typeof key === 'string') names.add(key)
    for (const inner of [where, and, or]) addKeys(inner, names)
  }
}
