import { useState } from 'react'
import { useAddress, useGo } from '../../address.tsx'
import { Button } from '../../parts/button.tsx'
import { TextField } from '../../parts/fields.tsx'
import { ActionMenu } from '../../parts/panel.tsx'
import { Sheet, SheetForm } from '../../parts/sheet.tsx'
import { useToast } from '../../parts/toast.tsx'
import { yamlOf } from '../../parts/yaml.ts'
import { copyText } from '../../parts/copy.ts'
import { nameOf, plainRule, type PlacedRule, type Ruleset } from './rule.ts'
import type { RuleWork } from './rule-work.ts'

/** What one can do with a rule. */
export function RuleMenu({
  phase,
  ruleset,
  row,
  work,
  canChange,
}: {
  phase: string
  ruleset: Ruleset
  row: PlacedRule
  work: RuleWork
  canChange: boolean
}) {
  const go = useGo()
  const { search } = useAddress()
  const toast = useToast()
  const [isMoving, setMoving] = useState(false)
  const { rule, at } = row
  const name = nameOf(rule, at)
  const copy = (text: string, what: string): void => {
    void copyText(text)
    toast(`${name} is copied as ${what}.`)
  }
  return (
    <>
      <ActionMenu
        label={`Actions for ${name}`}
        actions={[
          canChange && { name: 'Edit', icon: 'settings', run: () => go({ rest: [phase, rule.id], search }) },
          canChange && {
            name: 'Duplicate',
            icon: 'copy',
            run: () => go({ rest: [phase, 'new'], search: { copy: rule.id } }),
          },
          canChange && { name: 'Move to…', icon: 'arrow-up', run: () => setMoving(true) },
          { name: 'Copy as JSON', icon: 'copy', run: () => copy(JSON.stringify(plainRule(rule), null, 2), 'JSON') },
          { name: 'Copy as YAML', icon: 'copy', run: () => copy(yamlOf([plainRule(rule)]), 'YAML') },
          { name: 'Versions', icon: 'history', run: () => go({ rest: [phase, 'versions'] }) },
          canChange && { name: 'Delete', icon: 'trash', danger: true, run: () => void work.remove(ruleset, [rule]) },
        ]}
      />
      {isMoving && (
        <MoveSheet
          name={name}
          at={at}
          total={ruleset.rules?.length ?? 0}
          onClose={() => setMoving(false)}
          onMove={(to) => void work.move(ruleset, at, to)}
        />
      )}
    </>
  )
}

function MoveSheet({
  name,
  at,
  total,
  onClose,
  onMove,
}: {
  name: string
  at: number
  total: number
  onClose: () => void
  onMove: (to: number) => void
}) {
  const [text, setText] = useState(String(at + 1))
  const place = Number(text)
  const isValid = Number.isInteger(place) && place >= 1 && place <= total
  return (
    <Sheet title={`Move ${name}`} onClose={onClose}>
      <SheetForm
        verb="Move"
        busy={false}
        onCancel={onClose}
        onSubmit={() => {
          if (!isValid) return
          onMove(place - 1)
          onClose()
        }}
      >
        <TextField
          label="Place"
          type="number"
          min={1}
          max={total}
          value={text}
          hint={`From 1 (first) to ${total} (last)`}
          error={isValid ? undefined : `Write a number from 1 to ${total}.`}
          onChange={setText}
        />
        <div>
          <Button size="small" onClick={() => setText('1')}>
            First
          </Button>{' '}
          <Button size="small" onClick={() => setText(String(total))}>
            Last
          </Button>
        </div>
      </SheetForm>
    </Sheet>
  )
}
