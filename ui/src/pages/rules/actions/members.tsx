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

/** One of several texts. `none`: the name of the choice that leaves the member out. */
export const ChoiceMember = ({
  get,
  set,
  error,
  path,
  label,
  hint,
  options,
  none,
}: Member & { options: readonly Option[]; none?: string }) => (
  <SelectField
    label={label}
    {...hinted(hint)}
    value={textOf(get(...path))}
    error={error(...path)}
    options={none === undefined ? options : [['', none], ...options]}
    onChange={(value) => set(path, orNone(value))}
  />
)

/** A switch that may also be left as it is. `values`: what the states are in the API. */
export const SwitchMember = ({
  get,
  set,
  error,
  path,
  label,
  hint,
  onlyTrue = false,
}: Member & { onlyTrue?: boolean }) => {
  const value = get(...path)
  return (
    <SelectField
      label={label}
      {...hinted(hint)}
      value={value === true ? 'on' : value === false ? 'off' : ''}
      error={error(...path)}
      options={[['', 'As it is'], ['on', 'On'], ...(onlyTrue ? [] : [['off', 'Off'] as const])]}
      onChange={(next) => set(path, next === '' ? undefined : next === 'on')}
    />
  )
}

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
