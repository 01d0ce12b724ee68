import { Code, Facts, FromFile } from '../../parts/panel.tsx'
import { Sheet, SheetBody } from '../../parts/sheet.tsx'
import { yamlOf } from '../../parts/yaml.ts'
import { actionName } from './phases.ts'
import { nameOf, plainRule, type Rule } from './rule.ts'

/** A rule that one cannot change here. */
export const RuleView = ({ rule, at, onClose }: { rule: Rule; at: number; onClose: () => void }) => (
  <Sheet title={nameOf(rule, at)} onClose={onClose}>
    <SheetBody>
      <Facts
        rows={[
          ['Action', actionName(rule.action)],
          ['State', rule.enabled === false ? 'Off' : 'On'],
          ['Order', at + 1],
          ['When', <code key="when">{rule.expression}</code>],
          rule.edged_source && ['Source', <FromFile key="source" source={rule.edged_source} />],
        ]}
      />
      <Code label="The rule as YAML" text={yamlOf(plainRule(rule))} />
    </SheetBody>
  </Sheet>
)
