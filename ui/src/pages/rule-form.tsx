import { useState } from 'preact/hooks'
import { ExpressionEditor } from '../editor.tsx'
import { placed } from '../api.ts'
import { useWork } from '../hooks.ts'
import { Choice, Problem, TextArea, TextField } from '../parts.tsx'

/** The members of a rule that the form edits. */
export interface RuleInput {
  readonly action: string
  readonly expression: string
  readonly description?: string
  readonly enabled?: boolean
  readonly action_parameters?: unknown
  readonly ratelimit?: unknown
}

/** Actions of each phase, with parameters to begin with. */
const ACTIONS: Readonly<Record<string, Readonly<Record<string, unknown>>>> = {
  http_request_firewall_custom: {
    block: undefined,
    managed_challenge: undefined,
    log: undefined,
    skip: { ruleset: 'current' },
  },
  http_ratelimit: { block: undefined, managed_challenge: undefined, log: undefined },
  http_request_dynamic_redirect: {
    redirect: { from_value: { status_code: 301, target_url: { value: 'https://example.com/' } } },
  },
  http_request_transform: { rewrite: { uri: { path: { value: '/new' } } } },
  http_config_settings: { set_config: { content_converter: true } },
  http_request_origin: { route: { host_header: 'example.com' } },
  http_request_late_transform: { rewrite: { headers: { 'x-name': { operation: 'set', value: 'value' } } } },
  http_request_cache_settings: { set_cache_settings: { cache: true } },
  http_custom_errors: { serve_error: { content: 'Sorry', content_type: 'text/plain', status_code: 500 } },
  http_response_headers_transform: { rewrite: { headers: { 'x-name': { operation: 'set', value: 'value' } } } },
  http_response_compression: { compress_response: { algorithms: [{ name: 'gzip' }] } },
  http_log_custom_fields: { log_custom_field: { request_fields: [{ name: 'x-name' }] } },
}
const FIELDS = ['/action', '/expression', '/description', '/action_parameters', '/ratelimit'] as const
const RATE_LIMIT = {
  characteristics: ['ip.src', 'cf.colo.id'],
  period: 60,
  requests_per_period: 100,
  mitigation_timeout: 60,
}

const json = (value: unknown): string => (value === undefined ? '' : JSON.stringify(value, null, 2))

/** Creates or changes a rule. */
export function RuleForm({
  phase,
  rule,
  onStore,
  onCancel,
}: {
  phase: string
  rule: RuleInput | undefined
  onStore: (rule: RuleInput) => Promise<void>
  onCancel: () => void
}) {
  const actions = ACTIONS[phase] ?? {}
  const names = [...new Set([...Object.keys(actions), ...(rule ? [rule.action] : [])])]
  const [action, setAction] = useState(rule?.action ?? names[0] ?? '')
  const [expression, setExpression] = useState(rule?.expression ?? 'http.request.uri.path eq "/secret"')
  const [description, setDescription] = useState(rule?.description ?? '')
  const [parameters, setParameters] = useState(json(rule ? rule.action_parameters : actions[action]))
  const [limit, setLimit] = useState(json(rule ? rule.ratelimit : phase === 'http_ratelimit' ? RATE_LIMIT : undefined))
  const { busy, failure, run } = useWork()
  const { at, rest } = placed(failure, FIELDS, '/rules/0')
  // Left out, the API keeps the stored ones.
  const emptied = rule?.action_parameters !== undefined && action === rule.action ? { action_parameters: {} } : {}
  const choose = (next: string) => {
    setAction(next)
    setParameters(json(actions[next]))
  }
  return (
    <form
      onSubmit={(event) => {
        event.preventDefault()
        run(async () => {
          await onStore({
            action,
            expression,
            description,
            ...(parameters.trim() === '' ? emptied : { action_parameters: parsed('action parameters', parameters) }),
            ...(limit.trim() !== '' && { ratelimit: parsed('rate limit', limit) }),
          })
        })
      }}
    >
      <h3>{rule ? 'Change the rule' : 'New rule'}</h3>
      <div class="row">
        <Choice
          label="Action"
          value={action}
          error={at('/action')}
          options={names.map((name) => [name, name] as const)}
          onChange={choose}
        />
        <TextField label="Description" value={description} onInput={setDescription} error={at('/description')} />
      </div>
      <p id="expression-help" class="soft">
        Expression: Ctrl+Space completes fields; errors are marked at their place.
      </p>
      <ExpressionEditor label="Expression" value={expression} phase={phase} onInput={setExpression} />
      <Problem text={at('/expression')} />
      <TextArea
        label="Action parameters (JSON)"
        rows={linesOf(parameters)}
        value={parameters}
        onInput={setParameters}
        error={at('/action_parameters')}
      />
      {phase === 'http_ratelimit' && (
        <TextArea
          label="Rate limit (JSON)"
          rows={linesOf(limit)}
          value={limit}
          onInput={setLimit}
          error={at('/ratelimit')}
        />
      )}
      <Problem text={rest} />
      <div class="row">
        <button type="submit" class="main" aria-disabled={busy}>
          Store the rule
        </button>
        <button type="button" onClick={onCancel}>
          Cancel
        </button>
      </div>
    </form>
  )
}

const linesOf = (text: string): number => Math.max(text.split('\n').length, 2)

function parsed(what: string, text: string): unknown {
  try {
    return JSON.parse(text)
  } catch (error) {
    throw new Error(`the ${what} are not JSON: ${error instanceof Error ? error.message : ''}`, { cause: error })
  }
}
