import { SelectField, TextArea, TextField, type Option } from '../../../parts/fields.tsx'
import { numberOf, orNone, textOf, type FormProps } from './form.ts'

type Member = Pick<FormProps, 'get' | 'set' | 'error'> & {
  readonly path: readonly string[]
  readonly label: string
  readonly hint?: string
}

const hinted = (hint: string | undefined) => (hint === undefined ? {} : { hint })

export const TextMember = ({
  get,
  set,
  error,
  path,
  hint,
  ...rest
}: Member & { placeholder?: string; mono?: boolean; suggestions?: readonly string[]; required?: boolean }) => (
  <TextField
    {...rest}
    {...hinted(hint)}
    value={textOf(get(...path))}
    error={error(...path)}
    onChange={(text) => set(path, orNone(text))}
  />
)

export const NumberMember = ({
  get,
  set,
  error,
  path,
  hint,
  ...rest
}: Member & { min?: number; max?: number; placeholder?: string; required?: boolean }) => (
  <TextField
    {...rest}
    {...hinted(hint)}
    type="number"
    value={textOf(get(...path))}
    error={error(...path)}
    onChange={(text) => set(path, numberOf(text))}
  />
)

export const AreaMember = ({ get, set, error, path, hint, label, rows = 4 }: Member & { rows?: number }) => (
  <TextArea
    label={label}
    {...hinted(hint)}
    rows={rows}
    value={textOf(get(...path))}
    error={error(...path)}
    onChange={(text) => set(path, orNone(text))}
  />
)

/** A choice whose values stand for values of the member. */
const SelectMember = ({
  get,
  set,
  error,
  path,
  label,
  hint,
  options,
  shown,
  stored,
}: Member & {
  options: readonly Option[]
  shown: (member: unknown) => string
  stored: (value: string) => unknown
}) => (
  <SelectField
    label={label}
    {...hinted(hint)}
    value={shown(get(...path))}
    error={error(...path)}
    options={options}
    onChange={(value) => set(path, stored(value))}
  />
)

/** One of several texts. `none`: the name of the choice that leaves the member out. */
export const ChoiceMember = ({ options, none, ...member }: Member & { options: readonly Option[]; none?: string }) => (
  <SelectMember
    {...member}
    options={none === undefined ? options : [['', none], ...options]}
    shown={textOf}
    stored={orNone}
  />
)

/** A switch that may also be left as it is. */
export const SwitchMember = ({ onlyTrue = false, ...member }: Member & { onlyTrue?: boolean }) => (
  <SelectMember
    {...member}
    options={[['', 'As it is'], ['on', 'On'], ...(onlyTrue ? [] : [['off', 'Off'] as const])]}
    shown={(value) => (value === true ? 'on' : value === false ? 'off' : '')}
    stored={(value) => (value === '' ? undefined : value === 'on')}
  />
)

/** Several texts, one per line. `named`: each is an object with a name. */
export const TextsMember = ({ get, set, error, path, label, hint, named = false }: Member & { named?: boolean }) => {
  const value = get(...path)
  const items = Array.isArray(value) ? (value as readonly unknown[]) : []
  const texts = items.map((item) => (named ? textOf((item as { name?: unknown }).name) : textOf(item)))
  return (
    <TextArea
      label={label}
      hint={hint ?? 'One per line'}
      rows={Math.max(2, texts.length)}
      value={texts.join('\n')}
      error={error(...path)}
      onChange={(text) => {
        const lines = text === '' ? [] : text.split('\n')
        const next = lines.map((name, at) => (named ? { ...(items[at] as object | undefined), name } : name))
        set(path, next.length === 0 ? undefined : next)
      }}
    />
  )
}

/** A text that is fixed, or that an expression gives for each request. */
export const GivenMember = ({ get, set, error, path, label, hint, placeholder }: Member & { placeholder?: string }) => {
  const isDynamic = get(...path, 'expression') !== undefined
  const kind = isDynamic ? 'expression' : 'value'
  return (
    <>
      <SelectField
        label={`${label} is`}
        value={kind}
        options={[
          ['value', 'A fixed text'],
          ['expression', 'The result of an expression'],
        ]}
        onChange={(next) => set(path, { [next]: textOf(get(...path, kind)) })}
      />
      <TextField
        label={isDynamic ? 'Expression' : label}
        mono={isDynamic}
        {...hinted(hint)}
        {...(placeholder !== undefined && {
          placeholder: isDynamic ? 'concat("/en", http.request.uri.path)' : placeholder,
        })}
        value={textOf(get(...path, kind))}
        error={error(...path, kind) ?? error(...path)}
        onChange={(text) => set([...path, kind], text)}
      />
    </>
  )
}
