import { useState } from 'react'
import { placed, post } from '../../api/client.ts'
import { useWork } from '../../api/queries.ts'
import { useGo } from '../../address.tsx'
import { Button } from '../../parts/button.tsx'
import { SelectField, TextArea, TextField } from '../../parts/fields.tsx'
import { Sheet, SheetForm } from '../../parts/sheet.tsx'
import { Notice } from '../../parts/states.tsx'
import { useToast } from '../../parts/toast.tsx'
import { usePlace } from '../../place.tsx'
import { SecretSheet } from './secret-sheet.tsx'
import { credentialsOf, SECRET_NAMES, TYPES, type Credentials } from './credentials.ts'
import { replaceWebhook, type Webhook } from './webhook.ts'

const FIELDS = ['/label', '/destination_url', '/authentication_type', '/headers', '/signing_secret'] as const

/** Creates a webhook, or replaces the configuration of one. Empty secrets keep the stored ones. */
export function WebhookSheet({ webhook, onClose }: { webhook?: Webhook; onClose: () => void }) {
  const { ofAccount } = usePlace()
  const posture = `${ofAccount}/data-security/posture`
  const toast = useToast()
  const go = useGo()
  const [label, setLabel] = useState(webhook?.label ?? '')
  const [url, setUrl] = useState(webhook?.destination_url ?? '')
  const [isDirty, setDirty] = useState(false)
  const [shown, setShown] = useState<{ id: string; secret: string }>()
  const [credentials, setCredentials] = useState<Credentials>({
    type: webhook?.authentication_type ?? 'HMAC-Signing',
    user: '',
    secret: '',
    headers: (webhook?.headers ?? []).map(({ key }) => key).join('\n'),
  })
  const body = async (): Promise<{ body: object; made: string | undefined }> => {
    const isFresh = credentials.type === 'HMAC-Signing' && webhook?.authentication_type !== 'HMAC-Signing'
    // A new secret is generated unless the user has an own one.
    const made =
      isFresh && credentials.secret === ''
        ? (await post<{ signing_secret: string }>(`${ofAccount}/edged/signing_secrets`)).signing_secret
        : undefined
    const own = credentialsOf(made === undefined ? credentials : { ...credentials, secret: made }, webhook)
    return { body: { label, destination_url: url, authentication_type: credentials.type, ...own }, made }
  }
  const save = useWork(async () => {
    const { body: members, made } = await body()
    const stored = webhook
      ? await replaceWebhook(posture, withoutHeaders(webhook), members)
      : await post<Webhook>(`${posture}/webhooks`, members)
    return { stored, made }
  }, [posture])
  const test = useWork(async () => {
    const { body: members } = await body()
    const { label: _label, ...candidate } = members as { label: string }
    return await post<{ success: boolean; status_code: number; message: string }>(
      `${posture}/webhooks/evaluate`,
      candidate,
    )
  }, [])
  const [tested, setTested] = useState<{ success: boolean; message: string }>()
  const { at, rest } = placed(save.failure ?? test.failure, FIELDS)
  const set = (part: Partial<Credentials>): void => {
    setDirty(true)
    setCredentials((old) => ({ ...old, ...part }))
  }
  const submit = async (): Promise<void> => {
    const { stored, made } = await save.run()
    toast(webhook ? `${label} is saved.` : `Webhook ${label} is ready.`)
    if (made !== undefined) setShown({ id: stored.id, secret: made })
    else if (webhook) onClose()
    else go({ rest: [stored.id] })
  }
  if (shown) return <SecretSheet label={label} secret={shown.secret} onClose={() => go({ rest: [shown.id] })} />
  return (
    <Sheet title={webhook ? `Edit webhook ${webhook.label}` : 'New webhook'} onClose={onClose} isDirty={isDirty}>
      <SheetForm
        verb={webhook ? 'Save' : 'Create webhook'}
        busy={save.busy}
        failure={save.failure}
        rest={rest}
        onSubmit={() => void submit().catch(() => undefined)}
        onCancel={onClose}
        extra={
          !webhook && (
            <Button
              busy={test.busy}
              disabled={url === ''}
              onClick={() => {
                setTested(undefined)
                void test.run().then(setTested, () => undefined)
              }}
            >
              Test
            </Button>
          )
        }
      >
        <TextField
          label="Name"
          value={label}
          onChange={(next) => {
            setDirty(true)
            setLabel(next)
          }}
          error={at('/label')}
          required
        />
        <TextField
          label="Address"
          value={url}
          placeholder="https://hooks.example.com/edged"
          hint="https, with a public address."
          onChange={(next) => {
            setDirty(true)
            setUrl(next)
          }}
          error={at('/destination_url')}
          required
          mono
        />
        <Authentication credentials={credentials} webhook={webhook} onChange={set} at={at} />
        {tested && (
          <Notice kind={tested.success ? 'ok' : 'bad'}>
            {tested.success ? `The receiver accepts deliveries: ${tested.message}` : tested.message}
          </Notice>
        )}
      </SheetForm>
    </Sheet>
  )
}

/** The form has the header fields. */
const withoutHeaders = ({ headers: _headers, ...others }: Webhook): Webhook => others

function Authentication({
  credentials: { type, user, secret, headers },
  webhook,
  onChange,
  at,
}: {
  credentials: Credentials
  webhook: Webhook | undefined
  onChange: (part: Partial<Credentials>) => void
  at: (pointer: string) => string | undefined
}) {
  const keeps = webhook?.authentication_type === type
  const isSigned = type === 'HMAC-Signing'
  const secretName = SECRET_NAMES[type]
  const hint = keeps
    ? `Empty: the stored one stays.${isSigned ? ' A replaced secret is valid for 24 hours more.' : ''}`
    : isSigned
      ? 'Empty: one is generated and shown once. An own one has at least 24 bytes.'
      : undefined
  return (
    <>
      <SelectField
        label="Authentication"
        value={type}
        options={TYPES}
        error={at('/authentication_type')}
        onChange={(next) => onChange({ type: next, secret: '' })}
      />
      {type === 'Basic Auth' && (
        <TextField label="User" value={user} onChange={(next) => onChange({ user: next })} required={!keeps} />
      )}
      {secretName !== undefined && (
        <TextField
          label={secretName}
          secret
          value={secret}
          onChange={(next) => onChange({ secret: next })}
          error={at(isSigned ? '/signing_secret' : '/headers')}
          required={!keeps && !isSigned}
          {...(hint !== undefined && { hint })}
        />
      )}
      {type === 'Static Headers' && (
        <TextArea
          label="Header fields, one per line"
          hint="x-key: value. A name without a value keeps its stored value."
          value={headers}
          onChange={(next) => onChange({ headers: next })}
          error={at('/headers')}
        />
      )}
    </>
  )
}
