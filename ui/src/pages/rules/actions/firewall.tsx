import { useList } from '../../../api/queries.ts'
import { SelectField, CheckField, Row } from '../../../parts/fields.tsx'
import { usePlace } from '../../../place.tsx'
import { textOf, type FormProps } from './form.ts'
import { AreaMember, ChoiceMember, NumberMember, TextMember } from './members.tsx'

const TYPES = ['text/plain', 'application/json', 'text/html', 'text/xml']

/** Which response a blocked client gets. */
export function BlockForm(props: FormProps) {
  const { phase, get, set } = props
  const isOwn = get('response') !== undefined
  const status = phase === 'http_ratelimit' ? 429 : 403
  return (
    <>
      <SelectField
        label="Response"
        value={isOwn ? 'own' : 'default'}
        options={[
          ['default', `Default: ${status} with a page`],
          ['own', 'Own status and body'],
        ]}
        onChange={(next) =>
          set(['response'], next === 'own' ? { status_code: status, content_type: TYPES[0], content: '' } : undefined)
        }
      />
      {isOwn && (
        <>
          <Row>
            <NumberMember {...props} path={['response', 'status_code']} label="Status" min={400} max={499} />
            <TextMember {...props} path={['response', 'content_type']} label="Media type" suggestions={TYPES} />
          </Row>
          <AreaMember {...props} path={['response', 'content']} label="Body" />
        </>
      )}
    </>
  )
}

const PHASES = [
  ['http_ratelimit', 'Rate limits'],
  ['http_request_firewall_managed', 'Managed rules'],
  ['http_request_sbfm', 'Bot protection'],
] as const

const PRODUCTS = [
  ['waf', 'Firewall rules of older clients'],
  ['rateLimit', 'Rate limits of older clients'],
  ['securityLevel', 'Security level'],
] as const

/** Returns a list with or without a name. Undefined in place of an empty list. */
function toggled(list: readonly string[], name: string, on: boolean): readonly string[] | undefined {
  const next = on ? [...list, name] : list.filter((one) => one !== name)
  return next.length === 0 ? undefined : next
}

/** What a request skips. */
export function SkipForm({ get, set, error, phase }: FormProps) {
  const phases = (get('phases') ?? []) as readonly string[]
  const products = (get('products') ?? []) as readonly string[]
  const issue = error('') ?? error('phases') ?? error('products') ?? error('ruleset')
  return (
    <fieldset className="stack">
      <legend>Skip</legend>
      <CheckField
        label="The rest of these rules"
        on={get('ruleset') === 'current' || get('phase') === 'current'}
        onChange={(on) => {
          if (get('phase') !== undefined) set(['phase'], undefined)
          set(['ruleset'], on ? 'current' : undefined)
        }}
      />
      {PHASES.filter(([name]) => name !== phase).map(([name, title]) => (
        <CheckField
          key={name}
          label={title}
          on={phases.includes(name)}
          onChange={(on) => set(['phases'], toggled(phases, name, on))}
        />
      ))}
      {PRODUCTS.map(([name, title]) => (
        <CheckField
          key={name}
          label={title}
          on={products.includes(name)}
          onChange={(on) => set(['products'], toggled(products, name, on))}
        />
      ))}
      {issue !== undefined && (
        <p className="bad" role="alert">
          {issue}
        </p>
      )}
    </fieldset>
  )
}

export const ScoreForm = (props: FormProps) => (
  <NumberMember {...props} path={['increment']} label="Add to the score" hint="May be below zero" required />
)

interface Listed {
  readonly id: string
  readonly name: string
  readonly kind: string
  readonly phase: string
}

/** The rulesets of the phase that the rule can run: managed and custom rulesets of the zone and its account. */
export function ExecuteForm(props: FormProps) {
  const { phase, get } = props
  const { zone, ofZone, ofAccount } = usePlace()
  const ofPlace = useList<Listed>(zone && `${ofZone}/rulesets`)
  const ofAll = useList<Listed>(`${ofAccount}/rulesets`)
  const given = [...(ofPlace.value ?? []), ...(ofAll.value ?? [])]
  const fitting = given.filter((one) => one.phase === phase && (one.kind === 'custom' || one.kind === 'managed'))
  const id = textOf(get('id'))
  const isKnown = id === '' || fitting.some((one) => one.id === id)
  if (fitting.length === 0)
    return (
      <TextMember
        {...props}
        path={['id']}
        label="Id of the ruleset"
        hint="No ruleset of this phase can be run yet. The API makes one: POST rulesets, with the kind custom."
        mono
        required
      />
    )
  return (
    <ChoiceMember
      {...props}
      path={['id']}
      label="Ruleset"
      none="Choose a ruleset"
      options={[
        ...fitting.map((one) => [one.id, `${one.name || one.id} (${one.kind})`] as const),
        ...(isKnown ? [] : [[id, id] as const]),
      ]}
    />
  )
}
