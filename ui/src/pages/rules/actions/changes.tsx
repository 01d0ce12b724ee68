import { Button, IconButton } from '../../../parts/button.tsx'
import { CheckField, Row, SelectField, TextField, type Option } from '../../../parts/fields.tsx'
import { textOf, type FormProps } from './form.ts'
import { AreaMember, ChoiceMember, GivenMember, NumberMember, TextMember, TextsMember } from './members.tsx'
import styles from '../rules.module.css'

/** Where a client is sent. */
export function RedirectForm(props: FormProps) {
  const { phase, get, set } = props
  if (phase === 'http_request_redirect')
    return (
      <>
        <TextMember {...props} path={['from_list', 'name']} label="List of redirects" required />
        <TextMember
          {...props}
          path={['from_list', 'key']}
          label="Looked up by"
          placeholder="http.request.full_uri"
          mono
          required
        />
      </>
    )
  return (
    <>
      <GivenMember
        {...props}
        path={['from_value', 'target_url']}
        label="Target"
        placeholder="https://www.example.com/new"
      />
      <Row>
        <SelectField
          label="Status"
          value={textOf(get('from_value', 'status_code'))}
          options={[
            ['', '301 (moved permanently)'],
            ['302', '302 (found)'],
            ['303', '303 (see other)'],
            ['307', '307 (temporary)'],
            ['308', '308 (permanent)'],
          ]}
          onChange={(next) => set(['from_value', 'status_code'], next === '' ? undefined : Number(next))}
        />
      </Row>
      <CheckField
        label="Keep the query of the request"
        on={get('from_value', 'preserve_query_string') === true}
        onChange={(on) => set(['from_value', 'preserve_query_string'], on || undefined)}
      />
    </>
  )
}

/** A new path and query, or new header fields. */
export function RewriteForm(props: FormProps) {
  const isUri = props.phase === 'http_request_transform' || props.phase === 'http_request_sanitize'
  return isUri ? <UriForm {...props} /> : <FieldsForm {...props} />
}

function UriForm(props: FormProps) {
  const { get, set } = props
  return (
    <>
      {(['path', 'query'] as const).map((part) => (
        <div key={part} className="stack">
          <CheckField
            label={part === 'path' ? 'Change the path' : 'Change the query'}
            on={get('uri', part) !== undefined}
            onChange={(on) => set(['uri', part], on ? { value: '' } : undefined)}
          />
          {get('uri', part) !== undefined && (
            <GivenMember
              {...props}
              path={['uri', part]}
              label={part === 'path' ? 'New path' : 'New query'}
              placeholder={part === 'path' ? '/new' : 'a=1&b=2'}
            />
          )}
        </div>
      ))}
    </>
  )
}

interface FieldChange {
  readonly operation?: string
  readonly value?: string
  readonly expression?: string
}

const OPERATIONS = [
  ['set', 'Set'],
  ['add', 'Add'],
  ['remove', 'Remove'],
] as const

function FieldsForm({ get, set, error, phase }: FormProps) {
  const fields = Object.entries((get('headers') ?? {}) as Readonly<Record<string, FieldChange>>)
  const store = (next: readonly (readonly [string, FieldChange])[]): void =>
    set(['headers'], next.length === 0 ? undefined : Object.fromEntries(next))
  const change = (at: number, name: string, to: FieldChange): void =>
    store(fields.map((one, index) => (index === at ? ([name, to] as const) : one)))
  const side = phase === 'http_response_headers_transform' ? 'response' : 'request'
  return (
    <fieldset className="stack">
      <legend>Header fields of the {side}</legend>
      {fields.map(([name, field], at) => (
        <FieldRow
          key={at}
          name={name}
          field={field}
          error={error('headers', name)}
          onChange={(nextName, next) => change(at, nextName, next)}
          onRemove={() => store(fields.filter((_, index) => index !== at))}
        />
      ))}
      {error('headers') !== undefined && <p className="bad">{error('headers')}</p>}
      <Button
        size="small"
        icon="plus"
        disabled={fields.some(([name]) => name === '')}
        onClick={() => store([...fields, ['', { operation: 'set', value: '' }]])}
      >
        Header field
      </Button>
    </fieldset>
  )
}

function FieldRow({
  name,
  field,
  error,
  onChange,
  onRemove,
}: {
  name: string
  field: FieldChange
  error: string | undefined
  onChange: (name: string, field: FieldChange) => void
  onRemove: () => void
}) {
  const { operation = 'set', expression } = field
  const kind =
    operation === 'remove' ? 'remove' : expression === undefined ? `${operation}-value` : `${operation}-expression`
  const choose = (next: string): void => {
    const [verb = 'set', source] = next.split('-')
    const text = field.value ?? field.expression ?? ''
    onChange(name, source === undefined ? { operation: verb } : { operation: verb, [source]: text })
  }
  const source = expression === undefined ? 'value' : 'expression'
  return (
    <div className={styles['fieldRow']}>
      <Row>
        <SelectField
          label="Change"
          hideLabel
          value={kind}
          options={OPERATIONS.flatMap(([verb, title]): Option[] =>
            verb === 'remove'
              ? [[verb, title] as const]
              : [[`${verb}-value`, `${title} text`] as const, [`${verb}-expression`, `${title} result of`] as const],
          )}
          onChange={choose}
        />
        <TextField
          label="Name of the field"
          hideLabel
          placeholder="Name"
          value={name}
          error={error}
          onChange={(next) => onChange(next, field)}
        />
        {operation !== 'remove' && (
          <TextField
            label={source === 'value' ? 'Value' : 'Expression'}
            hideLabel
            mono={source === 'expression'}
            placeholder={source === 'value' ? 'Value' : 'Expression'}
            value={field[source] ?? ''}
            onChange={(next) => onChange(name, { ...field, [source]: next })}
          />
        )}
      </Row>
      <IconButton icon="x" label={`Remove ${name || 'this field'}`} size="small" onClick={onRemove} />
    </div>
  )
}

export const RouteForm = (props: FormProps) => (
  <>
    <Row>
      <TextMember {...props} path={['origin', 'host']} label="Origin host" placeholder="origin.example.com" />
      <NumberMember {...props} path={['origin', 'port']} label="Port" min={1} max={65_535} />
    </Row>
    <TextMember {...props} path={['host_header']} label="Host field that the origin gets" />
    <TextMember {...props} path={['sni', 'value']} label="Name asked for in TLS" />
  </>
)

export const ErrorForm = (props: FormProps) => (
  <>
    <Row>
      <NumberMember
        {...props}
        path={['status_code']}
        label="Status"
        min={400}
        max={999}
        placeholder="That of the origin"
      />
      <ChoiceMember
        {...props}
        path={['content_type']}
        label="Media type"
        none="text/html"
        options={['application/json', 'text/html', 'text/plain', 'text/xml'].map((one) => [one, one] as const)}
      />
    </Row>
    <TextMember {...props} path={['asset_name']} label="Stored page" hint="Or write the body here:" />
    <AreaMember {...props} path={['content']} label="Body" />
  </>
)

export const CompressForm = (props: FormProps) => (
  <TextsMember
    {...props}
    named
    path={['algorithms']}
    label="Algorithms, the preferred one first"
    hint="zstd, brotli or gzip, one per line. The last one may be auto, default or none. Empty: default"
  />
)

const LOGGED = [
  ['request_fields', 'Header fields of the request'],
  ['transformed_request_fields', 'Header fields that the origin got'],
  ['response_fields', 'Header fields of the response'],
  ['raw_response_fields', 'Header fields that the origin sent'],
  ['cookie_fields', 'Cookies'],
] as const

export const LogFieldsForm = (props: FormProps) => (
  <>
    {LOGGED.map(([name, label]) => (
      <TextsMember key={name} {...props} named path={[name]} label={label} />
    ))}
  </>
)
