import { useState } from 'react'
import { useRead } from '../../api/queries.ts'
import { Button } from '../../parts/button.tsx'
import { Diff } from '../../parts/diff.tsx'
import { SelectField } from '../../parts/fields.tsx'
import { count, when } from '../../parts/format.ts'
import { Sheet, SheetBody } from '../../parts/sheet.tsx'
import { Shown } from '../../parts/states.tsx'
import { yamlOf } from '../../parts/yaml.ts'
import { plainRule, type Ruleset } from './rule.ts'
import type { RuleWork } from './rule-work.ts'

/** Earlier versions of the rules of a phase, compared with the rules now. */
export function Versions({
  base,
  ruleset,
  title,
  work,
  canChange,
  onClose,
}: {
  base: string
  ruleset: Ruleset
  title: string
  work: RuleWork
  canChange: boolean
  onClose: () => void
}) {
  const read = useRead<readonly Ruleset[]>(`${base}/rulesets/${ruleset.id}/versions`)
  const older = (read.value ?? []).filter(({ version }) => version !== ruleset.version).toReversed()
  const [chosen, setChosen] = useState<string>()
  const version = chosen ?? older[0]?.version
  return (
    <Sheet title={`Versions: ${title}`} wide onClose={onClose}>
      <SheetBody>
        <Shown read={read} what="the versions">
          {() =>
            version === undefined ? (
              <p className="soft">These rules have not changed yet.</p>
            ) : (
              <>
                <SelectField
                  label="Compare the rules now with"
                  value={version}
                  options={older.map((one) => [one.version, `Version ${one.version} of ${when(one.last_updated)}`])}
                  onChange={setChosen}
                />
                <Version
                  key={version}
                  path={`${base}/rulesets/${ruleset.id}/versions/${version}`}
                  ruleset={ruleset}
                  canChange={canChange}
                  restore={async (rules) => {
                    await work.restore(ruleset, rules)
                    onClose()
                  }}
                />
              </>
            )
          }
        </Shown>
      </SheetBody>
    </Sheet>
  )
}

const textOf = ({ rules = [] }: Ruleset): string => (rules.length === 0 ? '' : yamlOf(rules.map(plainRule)))

function Version({
  path,
  ruleset,
  canChange,
  restore,
}: {
  path: string
  ruleset: Ruleset
  canChange: boolean
  restore: (rules: NonNullable<Ruleset['rules']>) => Promise<void>
}) {
  const read = useRead<Ruleset>(path)
  return (
    <Shown read={read} what="the version">
      {(version) => (
        <>
          <Diff before={textOf(version)} after={textOf(ruleset)} label={`Changes since version ${version.version}`} />
          {canChange && (
            <Button onClick={() => void restore(version.rules ?? [])}>
              Restore version {version.version} ({count(version.rules?.length ?? 0, 'rule')})
            </Button>
          )}
        </>
      )}
    </Shown>
  )
}
