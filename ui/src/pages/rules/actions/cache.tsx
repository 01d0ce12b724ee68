import { Row, SelectField } from '../../../parts/fields.tsx'
import { textOf, type FormProps } from './form.ts'
import { ChoiceMember, NumberMember, SwitchMember, TextMember, TextsMember } from './members.tsx'

const MODES = [
  ['respect_origin', 'As the origin says'],
  ['bypass_by_default', 'As the origin says, or not at all'],
  ['override_origin', 'For a time of its own'],
] as const

/** Whether and for how long responses are cached. */
export function CacheForm(props: FormProps) {
  const { phase, get } = props
  if (phase === 'http_response_cache_settings') return <StripForm {...props} />
  return (
    <>
      <SwitchMember {...props} path={['cache']} label="Cache responses" />
      <Row>
        <ChoiceMember {...props} path={['edge_ttl', 'mode']} label="Kept by edged" none="As it is" options={MODES} />
        {get('edge_ttl', 'mode') === 'override_origin' && (
          <NumberMember {...props} path={['edge_ttl', 'default']} label="Seconds in the cache" min={0} required />
        )}
      </Row>
      <Row>
        <ChoiceMember
          {...props}
          path={['browser_ttl', 'mode']}
          label="Kept by browsers"
          none="As it is"
          options={[...MODES, ['bypass', 'Not at all'] as const]}
        />
        {get('browser_ttl', 'mode') === 'override_origin' && (
          <NumberMember {...props} path={['browser_ttl', 'default']} label="Seconds in browsers" min={0} required />
        )}
      </Row>
      <TextsMember
        {...props}
        path={['cache_key', 'custom_key', 'query_string', 'include', 'list']}
        label="Query parameters that distinguish responses"
        hint="One per line. Empty: all of them"
      />
      <TextsMember
        {...props}
        path={['cache_key', 'custom_key', 'header', 'include']}
        label="Header fields that distinguish responses"
      />
      <Row>
        <SwitchMember
          {...props}
          path={['cache_key', 'ignore_query_strings_order']}
          label="Ignore the order of parameters"
        />
        <SwitchMember {...props} path={['respect_strong_etags']} label="Keep strong entity tags" />
      </Row>
      <Row>
        <SwitchMember {...props} path={['origin_error_page_passthru']} label="Pass error pages of the origin" />
        <SwitchMember
          {...props}
          path={['serve_stale', 'disable_stale_while_updating']}
          label="No stale response while updating"
        />
      </Row>
    </>
  )
}

const StripForm = (props: FormProps) => (
  <>
    <SwitchMember {...props} path={['strip_set_cookie']} label="Remove Set-Cookie" />
    <SwitchMember {...props} path={['strip_etags']} label="Remove ETag" />
    <SwitchMember {...props} path={['strip_last_modified']} label="Remove Last-Modified" />
  </>
)

const WITH_SECONDS = ['max-age', 's-maxage', 'stale-if-error', 'stale-while-revalidate']
const DIRECTIVES = [
  ...WITH_SECONDS,
  'no-store',
  'no-cache',
  'private',
  'public',
  'immutable',
  'must-revalidate',
  'must-understand',
  'no-transform',
  'proxy-revalidate',
]

/** Directives that are set or removed. */
export function CacheControlForm(props: FormProps) {
  const { get, set } = props
  return (
    <>
      {DIRECTIVES.map((name) => (
        <Row key={name}>
          <SelectField
            label={name}
            value={textOf(get(name, 'operation'))}
            options={[
              ['', 'As it is'],
              ['set', 'Set'],
              ['remove', 'Remove'],
            ]}
            onChange={(next) => set([name], next === '' ? undefined : { operation: next })}
          />
          {WITH_SECONDS.includes(name) && get(name, 'operation') === 'set' && (
            <NumberMember {...props} path={[name, 'value']} label={`Seconds of ${name}`} min={0} required />
          )}
        </Row>
      ))}
    </>
  )
}

export function CacheTagsForm(props: FormProps) {
  const { get, set } = props
  const isDynamic = get('expression') !== undefined
  return (
    <>
      <ChoiceMember
        {...props}
        path={['operation']}
        label="Tags"
        none="Choose"
        options={[
          ['add', 'Add'],
          ['remove', 'Remove'],
          ['set', 'Replace all'],
        ]}
      />
      <SelectField
        label="They are"
        value={isDynamic ? 'expression' : 'values'}
        options={[
          ['values', 'Fixed texts'],
          ['expression', 'The result of an expression'],
        ]}
        onChange={(next) => {
          set(['values'], undefined)
          set(['expression'], next === 'expression' ? '' : undefined)
        }}
      />
      {isDynamic ? (
        <TextMember {...props} path={['expression']} label="Expression" mono />
      ) : (
        <TextsMember {...props} path={['values']} label="Values" />
      )}
    </>
  )
}

const ON_OFF = [
  ['content_converter', 'Markdown for agents'],
  ['automatic_https_rewrites', 'Links to http become https'],
  ['email_obfuscation', 'Hide addresses from harvesters'],
  ['hotlink_protection', 'No images for other sites'],
  ['opportunistic_encryption', 'Encryption for http links'],
  ['rocket_loader', 'Load scripts late'],
  ['bic', 'Browser integrity check'],
] as const

const CHOICES = [
  ['content_converter_content', 'Content of Markdown', ['page', 'main']],
  ['ssl', 'Connection to the origin', ['off', 'flexible', 'full', 'strict', 'origin_pull']],
  ['security_level', 'Security level', ['off', 'essentially_off', 'low', 'medium', 'high', 'under_attack']],
  ['request_body_buffering', 'Hold request bodies', ['none', 'standard', 'full']],
  ['polish', 'Compress images', ['off', 'lossless', 'lossy', 'webp']],
] as const

/** Settings that change for the requests of a rule. Further ones are in the JSON below. */
export const ConfigForm = (props: FormProps) => (
  <>
    {ON_OFF.slice(0, 1).map(([name, label]) => (
      <SwitchMember key={name} {...props} path={[name]} label={label} />
    ))}
    {CHOICES.map(([name, label, values]) => (
      <ChoiceMember
        key={name}
        {...props}
        path={[name]}
        label={label}
        none="As it is"
        options={values.map((one) => [one, one.replaceAll('_', ' ')] as const)}
      />
    ))}
    {ON_OFF.slice(1).map(([name, label]) => (
      <SwitchMember key={name} {...props} path={[name]} label={label} hint="Saved, but edged does not act on it" />
    ))}
  </>
)
