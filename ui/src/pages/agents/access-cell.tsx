import { useGo } from '../../address.tsx'
import { messageOf } from '../../api/client.ts'
import { Button } from '../../parts/button.tsx'
import { ActionMenu, FromFile, State } from '../../parts/panel.tsx'
import { useToast } from '../../parts/toast.tsx'
import type { Access, RuleAccess } from './access.ts'
import { FILE_ACCESS, fileAccessOf, type Agent } from './agent-data.ts'
import styles from './agents.module.css'

const RULE_ACCESS: Readonly<Record<string, string>> = { block: 'Blocked', managed_challenge: 'Challenge' }
const DONE: Readonly<Record<RuleAccess, string>> = {
  allow: 'is no longer blocked or challenged',
  block: 'is blocked',
  managed_challenge: 'gets a challenge',
}

/** The access of an agent now, by a rule of the zone or by the file. */
function AccessState({ agent, access }: { agent: Agent; access: Access }) {
  const rule = access.ruleOf(agent.name)
  if (rule)
    return <State tone={rule.action === 'block' ? 'bad' : 'warn'}>{RULE_ACCESS[rule.action] ?? rule.action}</State>
  const ofFile = fileAccessOf(agent)
  if (ofFile === undefined) return <State tone="ok">Allowed</State>
  const { do: action, price, edged_source: source } = ofFile
  return (
    <span className={styles['ofFile']}>
      <State tone={action === 'block' ? 'bad' : action === 'allow' ? 'ok' : 'info'}>
        {FILE_ACCESS[action] ?? action}
        {price !== null && `, ${price}`}
      </State>
      {source ? <FromFile source={source} /> : <span className="soft">by the file</span>}
    </span>
  )
}

/** Changes the access of an agent, with a message that takes it back. */
function useChange(access: Access): (agent: string, to: RuleAccess) => void {
  const toast = useToast()
  const go = useGo()
  return (agent, to) => {
    access.change({ agent, to }).then(
      ({ undo, rule }) =>
        toast(`${agent} ${DONE[to]}.`, {
          undo,
          ...(rule !== undefined && {
            action: {
              name: 'Open rule',
              run: () => go({ page: 'rules', rest: ['http_request_firewall_custom', rule] }),
            },
          }),
        }),
      (error: unknown) => toast(`${agent}: ${messageOf(error)}`, { kind: 'bad' }),
    )
  }
}

/** The state, one button that blocks, and a menu with the rest. */
export function AccessCell({ agent, access }: { agent: Agent; access: Access }) {
  const go = useGo()
  const change = useChange(access)
  const action = access.ruleOf(agent.name)?.action
  const isBlocked = action === 'block'
  // The file has the access, and no rule of the zone comes before: it is changed there.
  const isOfFile = action === undefined && fileAccessOf(agent) !== undefined
  const toFile = (): void => go({ rest: [agent.name], search: { access: 'file' } })
  return (
    <span className={styles['access']}>
      <AccessState agent={agent} access={access} />
      {access.mayChange && !isOfFile && (
        <span className={styles['accessButtons']}>
          {(!isBlocked || action !== undefined) && (
            <Button
              size="small"
              disabled={!access.isReady}
              aria-label={`${isBlocked ? 'Allow' : 'Block'} ${agent.name}`}
              onClick={() => change(agent.name, isBlocked ? 'allow' : 'block')}
            >
              {isBlocked ? 'Allow' : 'Block'}
            </Button>
          )}
          <ActionMenu
            label={`Access of ${agent.name}`}
            actions={[
              action !== undefined && { name: 'Allow', run: () => change(agent.name, 'allow') },
              !isBlocked && { name: 'Block', danger: true, run: () => change(agent.name, 'block') },
              action !== 'managed_challenge' && {
                name: 'Challenge',
                run: () => change(agent.name, 'managed_challenge'),
              },
              { name: 'Markdown only…', run: toFile },
              { name: 'Pay…', run: toFile },
            ]}
          />
        </span>
      )}
    </span>
  )
}
