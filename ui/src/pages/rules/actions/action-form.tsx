import { useState, type ComponentType } from 'react'
import { TextArea } from '../../../parts/fields.tsx'
import { memberOf, withMember, type Params } from '../rule.ts'
import { CacheControlForm, CacheForm, CacheTagsForm, ConfigForm } from './cache.tsx'
import { CompressForm, ErrorForm, LogFieldsForm, RedirectForm, RewriteForm, RouteForm } from './changes.tsx'
import { BlockForm, ExecuteForm, ScoreForm, SkipForm } from './firewall.tsx'
import type { FormProps } from './form.ts'

/** The form of each action with parameters. */
const FORMS: Readonly<Record<string, ComponentType<FormProps>>> = {
  block: BlockForm,
  skip: SkipForm,
  score: ScoreForm,
  execute: ExecuteForm,
  redirect: RedirectForm,
  rewrite: RewriteForm,
  route: RouteForm,
  serve_error: ErrorForm,
  compress_response: CompressForm,
  log_custom_field: LogFieldsForm,
  set_config: ConfigForm,
  set_cache_settings: CacheForm,
  set_cache_control: CacheControlForm,
  set_cache_tags: CacheTagsForm,
}
const BARE = new Set(['log', 'challenge', 'js_challenge', 'managed_challenge', 'force_connection_close'])

/** The parameters of an action: a form, and all of them as JSON, which has what the form leaves out. */
export function ActionForm({
  action,
  phase,
  params,
  onChange,
  error,
}: {
  action: string
  phase: string
  params: Params | undefined
  onChange: (params: Params | undefined) => void
  /** The error at a pointer below `/action_parameters`. */
  error: (pointer: string) => string | undefined
}) {
  if (BARE.has(action) && params === undefined) return null
  const Form = FORMS[action]
  return (
    <>
      {Form && (
        <Form
          phase={phase}
          params={params}
          get={(...path) => memberOf(params, path)}
          // Several members may change at once.
          set={(path, value) => onChange((params = withMember(params, path, value)))}
          error={(...path) => error(path.map((part) => `/${part}`).join(''))}
        />
      )}
      <AsJson key={action} params={params} isOpen={!Form} onChange={onChange} />
    </>
  )
}

const shown = (params: Params | undefined): string => (params === undefined ? '' : JSON.stringify(params, null, 2))

function AsJson({
  params,
  isOpen,
  onChange,
}: {
  params: Params | undefined
  isOpen: boolean
  onChange: (params: Params | undefined) => void
}) {
  const [typed, setTyped] = useState<{ text: string; from: Params | undefined }>()
  const isTyped = typed !== undefined && typed.from === params
  const text = isTyped ? typed.text : shown(params)
  const [error, setError] = useState<string>()
  return (
    <details open={isOpen}>
      <summary>All parameters as JSON</summary>
      <TextArea
        label="Parameters"
        hideLabel
        rows={8}
        value={text}
        error={isTyped ? error : undefined}
        onChange={(next) => {
          const parsed = parsedObject(next)
          setError(parsed === null ? 'This is not a JSON object.' : undefined)
          setTyped({ text: next, from: parsed === null ? params : parsed })
          if (parsed !== null) onChange(parsed)
        }}
      />
    </details>
  )
}

/** Returns null for a text that is not an object. */
function parsedObject(text: string): Params | undefined | null {
  if (text.trim() === '') return undefined
  try {
    const value = JSON.parse(text) as unknown
    return typeof value === 'object' && value !== null && !Array.isArray(value) ? (value as Params) : null
  } catch {
    return null
  }
}
