import { stringify } from 'yaml'

interface Shape {
  readonly description?: string
  readonly default?: unknown
  readonly examples?: readonly unknown[]
  readonly properties?: Readonly<Record<string, Shape>>
  readonly items?: Shape
  readonly required?: readonly string[]
  /** The option, or one entry of the list, is part of the file and not only a comment. */
  readonly 'x-shown'?: boolean
}

/**
 * Returns a configuration file with every option of a schema: its description as a comment, its default as the value.
 * Options without a default are comments with an example; a list of objects shows one entry. The text is a valid file
 * if the environment has the variables that it names.
 */
export function documented(schema: object): string {
  return members(schema, '').join('\n').trimStart() + '\n'
}

function members({ properties = {}, required = [] }: Shape, indent: string): string[] {
  return Object.entries(properties).flatMap(([name, shape]) => {
    const lines = [...comment(shape, indent), ...member(name, shape, indent)]
    const absent = shape.default === undefined && !required.includes(name) && !(shape['x-shown'] && !shape.items)
    return [...(indent === '' ? [''] : []), ...(absent ? lines.map((line) => commentedOut(line, indent)) : lines)]
  })
}

function member(name: string, shape: Shape, indent: string): string[] {
  if (shape.properties) return [`${indent}${name}:`, ...members(shape, `${indent}  `)]
  if (shape.items?.properties) {
    const entry = [`${indent}  -`, ...members(shape.items, `${indent}    `)]
    if (shape['x-shown']) return [`${indent}${name}:`, ...entry]
    return [`${indent}${name}: []`, ...entry.map((line) => `${indent}#${line.slice(indent.length + 1)}`)]
  }
  return [`${indent}${name}: ${inline(shape.default === undefined ? (shape.examples?.[0] ?? '') : shape.default)}`]
}

const comment = ({ description }: Shape, indent: string): string[] => (description ? [`${indent}# ${description}`] : [])

const commentedOut = (line: string, indent: string): string =>
  line.startsWith(`${indent}#`) ? line : `${indent}# ${line.slice(indent.length)}`

const inline = (value: unknown): string =>
  stringify(value, { collectionStyle: 'flow', lineWidth: 0, defaultStringType: 'PLAIN' }).trim()
