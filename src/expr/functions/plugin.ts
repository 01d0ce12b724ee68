import { assertMembers, assertName } from '../../core/extension/members.js'
import type { GivenRow } from '../../core/extension/tables.js'
import type { PluginFunction, PluginParam } from '../language/plugin-types.js'
import { calledSafely, fromPlugin, pluginType, toPlugin } from '../language/plugin-value.js'
import type { FunctionDef } from '../language/scheme.js'
import { of } from './params.js'

/** Words of the grammar. */
const RESERVED: ReadonlySet<string> = new Set(
  'all and any contains eq false ge gt in le lt matches ne not or strict true wildcard xor'.split(' '),
)

/** Converts a function of a plug-in to a row of the table. Throws a TypeError if its members are not valid. */
export function pluginFunction(row: GivenRow): FunctionDef {
  assertName('name', row['name'], /^[a-z][a-z0-9_]{0,63}$/, 'tenant_of')
  assertMembers(row, { params: 'array', 'optional?': 'array', returns: 'string', 'phases?': 'array', call: 'function' })
  const plugin = row as unknown as PluginFunction
  const { name, params, optional = [], phases, callSteps } = plugin
  if (RESERVED.has(name)) throw new TypeError(`${name} is a word of the grammar; choose another name`)
  const returns = pluginType(plugin.returns)
  const types = [...params, ...optional].map((param) => pluginType(typeof param === 'string' ? param : param.type))
  return {
    name,
    params: params.map(paramOf),
    optional: optional.map(paramOf),
    ...(phases && { phases }),
    ...(callSteps !== undefined && { callSteps }),
    returns: () => returns,
    prepare:
      () =>
      (...args) => {
        const given = types.map((type, at) => toPlugin(args[at], type))
        return fromPlugin(
          calledSafely(name, () => plugin.call(...given)),
          returns,
        )
      },
  }
}

const paramOf = (param: PluginParam) =>
  typeof param === 'string' ? of(pluginType(param), 'any') : of(pluginType(param.type), param.kind ?? 'any')
