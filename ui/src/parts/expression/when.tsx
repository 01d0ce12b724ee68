import { useMemo, useState } from 'react'
import { Builder } from '../builder/builder.tsx'
import { isUnfinished, type Groups } from '../builder/model.ts'
import { Button } from '../button.tsx'
import { Segments } from '../fields.tsx'
import { Loading } from '../states.tsx'
import { foundIn, mended, wordsOf, type Found } from './check.ts'
import { ExpressionEditor } from './editor.tsx'
import { TRANSFORMS } from './fields.ts'
import { expressionOf, groupsOf } from './text.ts'
import { useCheck, useLanguage, useTree, type Language } from './use-language.ts'
import styles from './when.module.css'

/** The form with the text that it stands for. */
interface Own {
  readonly text: string
  readonly groups: Groups
}

const EMPTY: Groups = []
const NO_ERRORS: readonly Found[] = []

/** A condition as a form or as text. Both follow each other; the text is the truth. */
export function When({
  expression,
  phase,
  onChange,
  error,
}: {
  expression: string
  phase?: string | undefined
  onChange: (expression: string) => void
  /** Of the API. It is shown unless the check has found errors. */
  error?: string | undefined
}) {
  const [mode, setMode] = useState<'builder' | 'text'>('builder')
  // A form in work may have conditions without a value yet, so its own text is not read back.
  const [own, setOwn] = useState<Own>()
  const language = useLanguage()
  const check = useCheck(expression, phase)
  const isInWork = mode === 'builder' && own?.text === expression && isUnfinished(own.groups)
  const found = useMemo(() => (check && !isInWork ? foundIn(check.text, check.checked) : NO_ERRORS), [check, isInWork])
  return (
    <fieldset className={styles['when']}>
      <div className={styles['head']}>
        <legend>When</legend>
        <Segments
          label="Write the condition as"
          value={mode}
          options={[
            ['builder', 'Builder'],
            ['text', 'Expression'],
          ]}
          onChange={(next) => setMode(next as 'builder' | 'text')}
        />
      </div>
      {mode === 'text' ? (
        <ExpressionEditor value={expression} label="Expression" language={language} found={found} onChange={onChange} />
      ) : language ? (
        <AsForm
          expression={expression}
          phase={phase}
          isValid={check?.checked.valid}
          language={language}
          own={own}
          onOwn={(next) => {
            setOwn(next)
            onChange(next.text)
          }}
          toText={() => setMode('text')}
        />
      ) : (
        <Loading rows={2} />
      )}
      <Errors text={check?.text ?? ''} found={found} hints={check?.checked.hints ?? []} onChange={onChange} />
      {error !== undefined && found.length === 0 && (
        <p className={styles['error']} role="alert">
          {error}
        </p>
      )}
    </fieldset>
  )
}

function AsForm({
  expression,
  phase,
  isValid,
  language,
  own,
  onOwn,
  toText,
}: {
  expression: string
  phase: string | undefined
  /** Not checked yet if it is undefined. */
  isValid: boolean | undefined
  language: Language
  own: Own | undefined
  onOwn: (own: Own) => void
  toText: () => void
}) {
  const isOwn = own?.text === expression
  const tree = useTree(isOwn || isValid !== true ? undefined : expression, phase)
  const read = useMemo(
    () => (tree.data && !isOwn ? groupsOf(tree.data.tree, language.types) : undefined),
    [tree.data, isOwn, language.types],
  )
  const groups = isOwn ? own.groups : expression.trim() === '' ? EMPTY : read
  if (isValid === false && !isOwn)
    return (
      <div className={styles['broken']}>
        <code>{expression}</code>
        <Button size="small" onClick={toText}>
          Mend the expression
        </Button>
      </div>
    )
  if (!groups) return <Loading rows={2} />
  return (
    <>
      <Builder
        label="Conditions"
        groups={groups}
        fields={language.fields}
        lists={language.lists}
        transforms={TRANSFORMS}
        onChange={(next) => onOwn({ text: expressionOf(next, language.types), groups: next })}
      />
      {expression !== '' && (
        <code className={styles['text']} aria-label="The expression of these conditions">
          {expression}
        </code>
      )}
    </>
  )
}

const Errors = ({
  text,
  found,
  hints,
  onChange,
}: {
  text: string
  found: readonly Found[]
  hints: readonly string[]
  onChange: (expression: string) => void
}) => (
  <ul className={styles['errors']} aria-live="polite">
    {found.map((one, at) => (
      <li key={at} className={styles['error']}>
        {wordsOf(text, one)}{' '}
        {one.fix !== undefined && (
          <Button size="small" onClick={() => onChange(mended(text, one))}>
            Did you mean {one.fix}?
          </Button>
        )}
      </li>
    ))}
    {hints.map((hint) => (
      <li key={hint} className={styles['hint']}>
        {hint}
      </li>
    ))}
  </ul>
)
