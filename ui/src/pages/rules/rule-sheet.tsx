import { useState } from 'react'
import { placed } from '../../api/client.ts'
import { Button } from '../../parts/button.tsx'
import { useConfirm } from '../../parts/confirm.tsx'
import { When } from '../../parts/expression/when.tsx'
import { SelectField, TextField } from '../../parts/fields.tsx'
import { percent } from '../../parts/format.ts'
import { CopyButton } from '../../parts/panel.tsx'
import { Sheet, SheetForm } from '../../parts/sheet.tsx'
import { Notice } from '../../parts/states.tsx'
import { useToast } from '../../parts/toast.tsx'
import { yamlOf } from '../../parts/yaml.ts'
import { useWork } from '../../api/queries.ts'
import { ActionForm } from './actions/action-form.tsx'
import { newLimit, RateLimit } from './actions/rate-limit.tsx'
import { DryRunLine, isWide, useDryRun } from './dry-run.tsx'
import { bodyOf, draftOf, emptyDraft, useDraft, type Draft } from './draft.ts'
import { actionName, phaseNamed } from './phases.ts'
import { PlaceField, positionOf, type PlaceChoice } from './place-field.tsx'
import { plainRule, type Rule, type Ruleset } from './rule.ts'
import type { RuleWork } from './rule-work.ts'

const FIELDS = ['/description', '/expression', '/action', '/action_parameters', '/ratelimit', '/position']

/** A new rule, or one that is changed. */
export function RuleSheet({
  phase,
  ruleset,
  rule,
  copied,
  expression,
  work,
  draftKey,
  onClose,
}: {
  phase: string
  ruleset: Ruleset | undefined
  /** Undefined: a new one. */
  rule: Rule | undefined
  /** A rule that the new one begins as. */
  copied: Rule | undefined
  /** Of a new rule. */
  expression: string
  work: RuleWork
  draftKey: string
  onClose: () => void
}) {
  const initial = initialOf(phase, rule, copied, expression)
  const { draft, isDirty, change, forget } = useDraft(draftKey, initial)
  const [place, setPlace] = useState<PlaceChoice>({ kind: rule ? 'stay' : 'last', rule: '' })
  const store = useStore({ phase, ruleset, rule, place, work, done: () => (forget(), onClose()) })
  // The first rule of a phase is sent with its ruleset.
  const base = ruleset ? '' : '/rules/0'
  const errors = placed(store.failure, FIELDS, base)
  const run = useDryRun(phase, draft.expression)
  const { actions, one } = phaseNamed(phase)
  const others = (ruleset?.rules ?? []).filter(({ id }) => id !== rule?.id)
  const close = (): void => {
    forget()
    onClose()
  }
  return (
    <Sheet
      title={rule ? `Edit ${draft.description || one}` : `New ${one}`}
      onClose={close}
      isDirty={isDirty}
      actions={rule && <CopyButton label="Copy as YAML" text={() => yamlOf([plainRule(rule)])} />}
    >
      <SheetForm
        verb={rule ? 'Save' : 'Create'}
        busy={store.busy}
        failure={store.failure}
        rest={errors.rest ?? errors.at('/position')}
        onCancel={close}
        onSubmit={() => void store.save(draft, run)}
        extra={
          !rule && (
            <Button onClick={() => void store.save({ ...draft, enabled: false }, undefined)} disabled={store.busy}>
              Create disabled
            </Button>
          )
        }
      >
        <TextField
          label="Name"
          value={draft.description}
          error={errors.at('/description')}
          onChange={(description) => change({ description })}
        />
        <When
          expression={draft.expression}
          phase={phase}
          error={errors.at('/expression')}
          onChange={(next) => change({ expression: next })}
        />
        <Then
          phase={phase}
          actions={actions}
          draft={draft}
          change={change}
          at={errors.at}
          failure={store.failure}
          base={base}
        />
        <PlaceField value={place} rules={others} isNew={!rule} onChange={setPlace} />
        <DryRunLine run={run} />
        {isWide(run) && (
          <Notice kind="warn">
            This rule would have matched {percent(run.matched, run.examined)} of the last requests.
          </Notice>
        )}
      </SheetForm>
    </Sheet>
  )
}

function initialOf(phase: string, rule: Rule | undefined, copied: Rule | undefined, expression: string): Draft {
  if (rule) return draftOf(rule)
  if (!copied) return emptyDraft(phase, expression)
  const draft = draftOf(copied)
  return { ...draft, description: draft.description === '' ? '' : `${draft.description} (copy)` }
}

function Then({
  phase,
  actions,
  draft,
  change,
  at,
  failure,
  base,
}: {
  phase: string
  actions: readonly string[]
  draft: Draft
  change: (part: Partial<Draft>) => void
  at: (pointer: string) => string | undefined
  failure: unknown
  /** Pointer of the rule in the request. */
  base: string
}) {
  const all = actions.includes(draft.action) || draft.action === '' ? actions : [...actions, draft.action]
  const options = all.map((name) => [name, actionName(name)] as const)
  const below = (member: string) => (name: string) => {
    const pointer = name === '' || name.startsWith('/') ? `/${member}${name}` : `/${member}/${name}`
    return placed(failure, [pointer], base).at(pointer)
  }
  const own = at('/action_parameters')
  return (
    <>
      {actions.length !== 1 && (
        <SelectField
          label="Then"
          value={draft.action}
          options={draft.action === '' ? [['', 'Choose an action'], ...options] : options}
          error={at('/action')}
          onChange={(action) => change({ action, action_parameters: undefined })}
        />
      )}
      {draft.action !== '' && (
        <ActionForm
          action={draft.action}
          phase={phase}
          params={draft.action_parameters}
          error={below('action_parameters')}
          onChange={(params) => change({ action_parameters: params })}
        />
      )}
      {own !== undefined && (
        <p className="bad" role="alert">
          {own}
        </p>
      )}
      {(phase === 'http_ratelimit' ? draft.action !== 'execute' : draft.ratelimit !== undefined) && (
        <RateLimit
          limit={draft.ratelimit ?? newLimit()}
          error={below('ratelimit')}
          onChange={(ratelimit) => change({ ratelimit })}
        />
      )}
    </>
  )
}

function useStore({
  phase,
  ruleset,
  rule,
  place,
  work,
  done,
}: {
  phase: string
  ruleset: Ruleset | undefined
  rule: Rule | undefined
  place: PlaceChoice
  work: RuleWork
  done: () => void
}) {
  const confirm = useConfirm()
  const toast = useToast()
  const storing = useWork<Draft>(async (draft) => {
    await work.store({ phase, ruleset, rule, body: bodyOf(draft, rule), position: positionOf(place) })
    const name = draft.description === '' ? 'The rule' : draft.description
    toast(rule ? `${name} is saved.` : `${name} is created${draft.enabled ? '' : ', but off'}.`, {
      ...(rule && { undo: async () => await work.putBack(ruleset!.id, rule) }),
    })
    done()
  })
  return {
    busy: storing.busy,
    failure: storing.failure,
    save: async (draft: Draft, run: Parameters<typeof isWide>[0]): Promise<void> => {
      const asks = draft.enabled && draft.action !== 'log' && isWide(run)
      const isSure =
        !asks ||
        (await confirm({
          title: `${rule ? 'Save' : 'Create'} ${draft.description || 'this rule'}?`,
          text: `It would have matched ${percent(run.matched, run.examined)} of the requests in the last hour.`,
          verb: rule ? 'Save' : 'Create',
        }))
      if (isSure) storing.start(draft)
    },
  }
}
