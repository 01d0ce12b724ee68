const PLAIN = /^[A-Za-z_/][\w ./-]*$/
const WORDS = new Set(['true', 'false', 'null', 'yes', 'no', 'on', 'off', 'y', 'n'])

const scalar = (value: unknown): string => {
  if (typeof value !== 'string') return JSON.stringify(value) ?? 'null'
  if (PLAIN.test(value) && value.trim() === value && !WORDS.has(value.toLowerCase())) return value
  if (value !== '' && !/['\n\r\t\\]/.test(value)) return `'${value}'`
  return JSON.stringify(value)
}

const isMap = (value: unknown): value is Readonly<Record<string, unknown>> =>
  typeof value === 'object' && value !== null

const isEmpty = (value: object): boolean => Object.keys(value).length === 0

/** Returns a JSON value as YAML, as people write it into the configuration file. */
export function yamlOf(value: unknown, indent = ''): string {
  if (!isMap(value)) return `${indent}${scalar(value)}\n`
  if (isEmpty(value)) return `${indent}${Array.isArray(value) ? '[]' : '{}'}\n`
  if (Array.isArray(value)) {
    return value.map((item) => `${indent}- ${yamlOf(item, `${indent}  `).slice(indent.length + 2)}`).join('')
  }
  return Object.entries(value)
    .filter(([, member]) => member !== undefined)
    .map(([name, member]) => {
      const key = `${indent}${scalar(name)}:`
      if (!isMap(member) || isEmpty(member)) return `${key} ${yamlOf(member)}`
      return `${key}\n${yamlOf(member, `${indent}  `)}`
    })
    .join('')
}
