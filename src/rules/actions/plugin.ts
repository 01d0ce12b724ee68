import { Type, type TObject } from 'typebox'
import { assertMembers, assertName } from '../../core/extension/members.js'
import type { GivenRow } from '../../core/extension/tables.js'
import { strict } from '../../core/schema.js'
import { toBytes } from '../../expr/index.js'
import { withHeader, withoutHeader } from '../../http/headers.js'
import { action, type Action } from '../action.js'
import { PHASES, type PhaseName } from '../phases.js'
import type { PluginAction, PluginDecision, PluginResponse, PluginRun } from '../plugin-types.js'
import type { RuleExchange, RuleRun, TerminalAction } from '../types.js'
import { headerRefusal } from './header-names.js'
import { headerValue } from './text-values.js'

/** Converts an action of a plug-in to a row of the table. Throws a TypeError if its members are not valid. */
export function pluginAction(row: GivenRow): Action {
  assertName('name', row['name'], /^[a-z][a-z0-9_]{0,63}$/, 'tag_tenant')
  assertMembers(row, {
    summary: 'string',
    phases: 'array',
    'params?': 'object',
    'examples?': 'array',
    prepare: 'function',
  })
  const plugin = row as unknown as PluginAction
  const { name, summary, examples = [] } = plugin
  return action({
    name,
    summary,
    phases: plugin.phases.map(phaseOf),
    params: (plugin.params ?? Type.Object({}, strict)) as unknown as TObject,
    optional: Object.keys(plugin.params?.['required'] ?? {}).length === 0,
    examples: examples.map(({ phase, params }) => ({ phase: phaseOf(phase), params })),
    prepare(params, { place }) {
      const decide = plugin.prepare(params)
      if (typeof decide !== 'function') throw new TypeError(`prepare of the action ${name} must return a function`)
      return (run) => ending(decide(runOf(run, place.phase.name)))
    },
  })
}

function phaseOf(name: string): PhaseName {
  const phase = PHASES.find((one) => one.name === name && one.layer === 'request')
  if (phase !== undefined) return phase.name
  const names = PHASES.flatMap((one) => (one.layer === 'request' ? [one.name] : []))
  throw new TypeError(`${name} is not a phase of requests; use one of ${names.join(', ')}`)
}

/** Returns the request and the changes that an action of a plug-in can make. */
const runOf = (run: RuleRun, phase: PhaseName): PluginRun => ({
  request: run.exchange,
  setRequestHeader(name, value) {
    const refusal = headerRefusal(name, value === undefined ? 'remove' : 'set', phase)
    if (refusal !== undefined) throw new TypeError(`${name}: ${refusal}`)
    const text = value === undefined ? '' : headerValue(toBytes(value))
    run.change(() => setHeader(run.exchange, name.toLowerCase(), text))
  },
  addScore(increment) {
    if (!Number.isSafeInteger(increment)) throw new TypeError(`a score is an integer, found ${String(increment)}`)
    run.addScore(increment)
  },
  leavePhase: () => run.leavePhase(),
})

function setHeader(exchange: RuleExchange, name: string, value: string): void {
  const changed = (headers: readonly string[]) =>
    value === '' ? withoutHeader(headers, name) : withHeader(headers, name, value)
  exchange.clientHeaders = changed(exchange.clientHeaders)
  exchange.headers = changed(exchange.headers)
}

function ending(decision: PluginDecision): TerminalAction | undefined | false {
  if (decision === undefined || decision === false) return decision
  if (decision === 'close') return { kind: 'close' }
  const { status, body = '' } = decision
  if (!Number.isInteger(status) || status < 200 || status > 599)
    throw new TypeError(`the status of a response is 200 to 599, found ${String(status)}`)
  return { kind: 'response', status, headers: headersOf(decision), body: Buffer.from(body as string) }
}

function headersOf({ headers = {} }: PluginResponse): string[] {
  return Object.entries(headers).flatMap(([name, value]) => {
    const refusal = headerRefusal(name, 'set', 'http_response_headers_transform')
    if (refusal !== undefined) throw new TypeError(`${name}: ${refusal}`)
    return [name.toLowerCase(), headerValue(toBytes(value))]
  })
}
