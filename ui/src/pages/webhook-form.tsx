import { useState } from 'preact/hooks'
import { placed, post, put } from '../api.ts'
import { useWork } from '../hooks.ts'
import { Choice, Problem, TextArea, TextField } from '../parts.tsx'
import { usePlace } from '../place.ts'
import type { Webhook } from './webhook.ts'

const TYPES = ['None', 'Basic Auth', 'Bearer Auth', 'Static Headers', 'HMAC-Signing'] as const
const FIELDS = ['/label', '/destination_url', '/authentication_type', '/headers', '/signing_secret'] as const

interface Header {
  readonly key: string
  readonly value?: string
}

/** Returns the headers of lines such as `x-key: value`. A line without a value keeps the stored one. */
const headersOf = (text: string): Header[] =>
  text
    .split('\n')
    .filter((line) => line.trim() !== '')
    .map((line) => {
      const at = line.indexOf(':')
      if (at < 0) return { key: line.trim() }
      const value = line.slice(at + 1).trim()
      return { key: line.slice(0, at).trim(), ...(value !== '' && { value }) }
    })

/** Base64 of the UTF-8 bytes (RFC 7617). */
const base64 = (text: string): string => btoa(String.fromCharCode(...new TextEncoder().encode(text)))

/** Creates a webhook, or replaces the configuration of one. Empty secrets keep the stored ones. */
export function WebhookForm({
  posture,
  webhook,
  onDone,
  onCancel,
}: {
  posture: string
  webhook?: Webhook | undefined
  onDone: () => void
  onCancel?: () => void
}) {
  const [label, setLabel] = useState(webhook?.label ?? '')
  const [url, setUrl] = useState(webhook?.destination_url ?? '')
  const [type, setType] = useState<string>(webhook?.authentication_type ?? TYPES[0])
  const [user, setUser] = useState('')
  const [secret, setSecret] = useState('')
  const [generated, setGenerated] = useState('')
  const { ofAccount } = usePlace()
  const [headers, setHeaders] = useState((webhook?.headers ?? []).map(({ key }) => key).join('\n'))
  const { busy, failure, run } = useWork()
  const { at, rest } = placed(failure, FIELDS)
  const keeps = webhook?.authentication_type === type
  const credentials = () => {
    if (type === 'Static Headers') return { headers: headersOf(headers) }
    if (type === 'None') return {}
    if (keeps && secret === '') return type === 'HMAC-Signing' ? {} : { headers: webhook.headers ?? [] }
    if (type === 'HMAC-Signing') return { signing_secret: secret }
    const value = type === 'Basic Auth' ? `Basic ${base64(`${user}:${secret}`)}` : `Bearer ${secret}`
    return { headers: [{ key: 'Authorization', value }] }
  }
  const save = async () => {
    const body = { label, destination_url: url, authentication_type: type, ...credentials() }
    if (webhook) await put(`${posture}/webhooks/${webhook.id}`, { ...body, status: webhook.status })
    else await post(`${posture}/webhooks`, body)
    for (const clear of [setLabel, setUrl, setUser, setSecret, setGenerated, setHeaders]) clear('')
  }
  const generate = async () => {
    const { signing_secret: made } = await post<{ signing_secret: string }>(`${ofAccount}/edged/signing_secrets`)
    setSecret(made)
    setGenerated(made)
  }
  const names: Readonly<Record<string, string>> = {
    'Basic Auth': 'Password',
    'Bearer Auth': 'Token',
    'HMAC-Signing': 'Signing secret',
  }
  const secretName = names[type]
  return (
    <form
      onSubmit={(event) => {
        event.preventDefault()
        run(async () => {
          await save()
          onDone()
        })
      }}
    >
      <h3>{webhook ? `Change ${webhook.label}` : 'New webhook'}</h3>
      <div class="row">
        <TextField label="Label" value={label} onInput={setLabel} error={at('/label')} required />
        <TextField label="URL" value={url} onInput={setUrl} error={at('/destination_url')} required />
        <Choice
          label="Authentication"
          value={type}
          error={at('/authentication_type')}
          options={TYPES.map((one) => [one, one])}
          onChange={setType}
        />
        {type === 'Basic Auth' && <TextField label="User" value={user} onInput={setUser} required={!keeps} />}
        {secretName && (
          <TextField
            label={secretName}
            secret
            value={secret}
            onInput={setSecret}
            error={at(type === 'HMAC-Signing' ? '/signing_secret' : '/headers')}
            required={!keeps}
            {...(keeps && {
              hint: 'Empty: the stored one stays. A replaced signing secret is valid for 24 hours more.',
            })}
          />
        )}
      </div>
      {type === 'HMAC-Signing' && (
        <p>
          <button type="button" aria-disabled={busy} onClick={() => run(generate)}>
            Generate a signing secret
          </button>{' '}
          {generated !== '' && (
            <span>
              For the receiver: <code>{generated}</code>. It is not shown again.
            </span>
          )}
        </p>
      )}
      {type === 'Static Headers' && (
        <TextArea
          label="Headers, one in a line"
          hint="x-key: value. In a change, a name without a value keeps its stored value."
          rows={3}
          value={headers}
          onInput={setHeaders}
          error={at('/headers')}
        />
      )}
      <Problem text={rest} />
      <div class="row">
        <button type="submit" class={webhook ? 'main' : ''} aria-disabled={busy}>
          {webhook ? 'Store the webhook' : 'Create'}
        </button>
        {onCancel && (
          <button type="button" onClick={onCancel}>
            Cancel
          </button>
        )}
      </div>
    </form>
  )
}
