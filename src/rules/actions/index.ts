import { tableOf } from '../../core/extension/tables.js'
import type { RulesetKind } from '../../core/model/ruleset.js'
import type { Action } from '../action.js'
import type { PhaseName } from '../phases.js'
import { block } from './block.js'
import { CHALLENGES } from './challenge.js'
import { compressResponse } from './compress-response.js'
import { ddosDynamic } from './ddos-dynamic.js'
import { execute } from './execute.js'
import { forceConnectionClose } from './force-connection-close.js'
import { log } from './log.js'
import { logCustomField } from './log-custom-field.js'
import { pluginAction } from './plugin.js'
import { redirect } from './redirect.js'
import { rewrite } from './rewrite.js'
import { route } from './route.js'
import { score } from './score.js'
import { serveError } from './serve-error.js'
import { setCacheControl } from './set-cache-control.js'
import { setCacheSettings } from './set-cache-settings.js'
import { setCacheTags } from './set-cache-tags.js'
import { setConfig } from './set-config.js'
import { skip } from './skip.js'
import { transformResponseHtml } from './transform-response-html.js'

const OWN: readonly Action[] = [
  block,
  ...CHALLENGES,
  compressResponse,
  ddosDynamic,
  execute,
  forceConnectionClose,
  log,
  logCustomField,
  redirect,
  rewrite,
  route,
  score,
  serveError,
  setCacheControl,
  setCacheSettings,
  setCacheTags,
  setConfig,
  skip,
  transformResponseHtml,
]

const ALL = tableOf('action', { own: OWN, key: ({ name }) => name, complete: pluginAction })

/** All actions that a rule can name. */
export const ACTIONS: ReadonlyMap<string, Action> = new Map(ALL.map((action) => [action.name, action]))

/** Returns the actions that rules of such a ruleset can name. Managed rulesets cannot run other rulesets. */
export const actionsOf = (phase: PhaseName, kind: RulesetKind): readonly Action[] =>
  ALL.filter((action) =>
    kind === 'managed'
      ? action !== execute && (action.phases.includes(phase) || action.managedPhases.includes(phase))
      : action.phases.includes(phase),
  )
