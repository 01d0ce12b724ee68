import type { BuilderField, BuilderOperator } from '../builder/model.ts'

/** A field or function of the rules language. */
export interface Named {
  readonly name: string
  readonly type: string
  readonly kind: 'field' | 'function'
  readonly description: string
}

const operator = (
  name: string,
  label: string,
  input: BuilderOperator['input'] = 'text',
  hint?: string,
): BuilderOperator => ({
  name,
  label,
  input,
  ...(hint !== undefined && { hint }),
})

const TEXT = [
  operator('eq', 'is'),
  operator('ne', 'is not'),
  operator('contains', 'contains'),
  operator('!contains', 'does not contain'),
  operator('starts_with', 'starts with'),
  operator('!starts_with', 'does not start with'),
  operator('ends_with', 'ends with'),
  operator('!ends_with', 'does not end with'),
  operator('in', 'is one of', 'values'),
  operator('!in', 'is none of', 'values'),
  operator('in_list', 'is in list', 'list'),
  operator('!in_list', 'is not in list', 'list'),
  operator('wildcard', 'matches pattern', 'text', '* is any text; upper and lower case are the same'),
  operator('!wildcard', 'does not match pattern', 'text', '* is any text; upper and lower case are the same'),
  operator('strict_wildcard', 'matches pattern, exact case', 'text', '* is any text'),
  operator('!strict_wildcard', 'does not match pattern, exact case', 'text', '* is any text'),
  operator('matches', 'matches regular expression'),
  operator('!matches', 'does not match regular expression'),
]
/** Functions have no form inside of any() and all(). */
const TEXT_OF_MANY = TEXT.filter(({ name }) => !/starts|ends|list/.test(name))
const NUMBERS = 'Numbers or ranges as 1..5, one per line'
const NUMBER = [
  operator('eq', 'is', 'number'),
  operator('ne', 'is not', 'number'),
  operator('gt', 'is more than', 'number'),
  operator('ge', 'is at least', 'number'),
  operator('lt', 'is less than', 'number'),
  operator('le', 'is at most', 'number'),
  operator('in', 'is one of', 'values', NUMBERS),
  operator('!in', 'is none of', 'values', NUMBERS),
]
const NUMBER_IN_LIST = [
  ...NUMBER,
  operator('in_list', 'is in list', 'list'),
  operator('!in_list', 'is not in list', 'list'),
]
const ADDRESSES = 'Addresses or ranges as 192.0.2.0/24, one per line'
const ADDRESS = [
  operator('eq', 'is'),
  operator('ne', 'is not'),
  operator('in', 'is one of', 'values', ADDRESSES),
  operator('!in', 'is none of', 'values', ADDRESSES),
  operator('in_list', 'is in list', 'list'),
  operator('!in_list', 'is not in list', 'list'),
]
const FLAG = [operator('is_true', 'is true', 'none'), operator('!is_true', 'is not true', 'none')]

/** Fields that most rules use, by the names that people know. */
const COMMON: Readonly<Record<string, string>> = {
  'http.request.uri.path': 'URI path',
  'http.host': 'Host name',
  'http.request.uri': 'URI with query',
  'http.request.uri.query': 'Query string',
  'http.request.uri.args': 'Query parameter',
  'http.request.full_uri': 'Full URI',
  'http.request.method': 'Method',
  'ip.src': 'IP address',
  'ip.src.country': 'Country',
  'ip.geoip.asnum': 'AS number',
  'http.user_agent': 'User agent',
  'edged.agent.name': 'Agent',
  'edged.agent.category': 'Category of the agent',
  'edged.agent.verified': 'Agent is verified',
  'http.request.headers': 'Header field',
  'http.request.cookies': 'Cookie',
  'http.referer': 'Referer',
  'http.request.accepted_languages': 'Accepted language',
  'http.request.uri.path.extension': 'File extension',
  ssl: 'HTTPS',
  'http.response.code': 'Status of the response',
  'http.response.headers': 'Header field of the response',
  'http.response.content_type.media_type': 'Media type of the response',
}

const SUGGESTIONS: Readonly<Record<string, readonly string[]>> = {
  'http.request.method': ['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS'],
}

/** They are compared with nothing. */
const CONSTANTS = new Set(['true', 'false'])

const INNER = /^(?:Map<)?(?:Array<)?(Bytes|Int|Ip|Bool)>*$/

/** Type of a field: `Map<Array<Bytes>>` is a map whose values are many texts. */
interface Shape {
  readonly scalar: 'Bytes' | 'Int' | 'Ip' | 'Bool'
  readonly isMap: boolean
  readonly isMany: boolean
}

export function shapeOf(type: string): Shape | undefined {
  const scalar = INNER.exec(type)?.[1] as Shape['scalar'] | undefined
  return scalar && { scalar, isMap: type.startsWith('Map<'), isMany: type.includes('Array<') }
}

function operatorsOf({ scalar, isMany }: Shape, name: string): readonly BuilderOperator[] {
  if (scalar === 'Bytes') return isMany ? TEXT_OF_MANY : TEXT
  if (scalar === 'Int') return /asnum/.test(name) ? NUMBER_IN_LIST : NUMBER
  return scalar === 'Ip' ? ADDRESS : FLAG
}

/** Returns the fields that the form offers, the common ones first. */
export function fieldsFor(names: readonly Named[]): readonly BuilderField[] {
  const fields = names.flatMap(({ name, type, kind, description }): BuilderField[] => {
    const shape = kind === 'field' ? shapeOf(type) : undefined
    if (!shape || CONSTANTS.has(name)) return []
    const common = COMMON[name]
    const group = common === undefined ? `All: ${name.split('.').slice(0, 2).join('.')}` : 'Common'
    return [
      {
        name,
        label: common ?? name,
        group,
        operators: operatorsOf(shape, name),
        ...(shape.isMap && { key: 'Name' }),
        isMany: shape.isMany,
        ...(SUGGESTIONS[name] && { suggestions: SUGGESTIONS[name] }),
        ...(common === undefined && description !== '' && { hint: description }),
      },
    ]
  })
  const order = Object.keys(COMMON)
  const rank = ({ name }: BuilderField): number => (COMMON[name] === undefined ? order.length : order.indexOf(name))
  return fields.sort((a, b) => rank(a) - rank(b) || (a.name < b.name ? -1 : 1))
}

export const TRANSFORMS = [
  ['lower', 'in lower case'],
  ['upper', 'in upper case'],
  ['len', 'its length'],
  ['url_decode', 'URL-decoded'],
] as const
