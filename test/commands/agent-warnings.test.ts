import t from 'tap'
import { agentWarnings } from '../../src/commands/agent-warnings.js'
import { readConfig } from '../../src/config/load.js'

const ACCOUNT = '023e105f4ecef8ad9ca31a8372d0c353'

const warnings = (zone: object, account: object = {}) =>
  agentWarnings(
    readConfig(
      JSON.stringify({
        accounts: [{ id: ACCOUNT, name: 'Example', ...account }],
        zones: [
          { id: '9f1839b6152d298aca64c4e906b6d074', account: ACCOUNT, name: 'example.test', origin: 'demo', ...zone },
        ],
      }),
      'edged.yaml',
      {},
    ),
  )

t.test('a hint that names an /llms.txt which nobody creates is a warning', (t) => {
  t.match(warnings({ agents: { hint: true } }), [{ pointer: '/zones/0/agents/hint', message: /llms_txt: sitemap/ }])
  t.same(warnings({ agents: { hint: true }, markdown: { llms_txt: 'sitemap' } }), [])
  t.same(warnings({ agents: {} }), [])
  t.end()
})

t.test('texts that no agent has are warnings at their rule', (t) => {
  const rules = (...expressions: string[]) => ({
    rules: { http_request_firewall_custom: expressions.map((expression) => ({ expression, action: 'block' })) },
  })
  const found = warnings(
    rules(
      'edged.agent.name eq "GPTBot"',
      'edged.agent.name in {"GPTBt" "signer.example.com" ""}',
      'http.host eq "x" and not edged.agent.category ne "ai_crawlers"',
      'edged.agent.operator eq "Nobody at all"',
      'edged.agent.category eq "robot"',
      'edged.agent.verified eq "signature" or edged.agent.name contains "bot"',
    ),
    rules('edged.agent.verified eq "yes"'),
  )
  const at = (section: string, index: number) => `/${section}/0/rules/http_request_firewall_custom/${index}/expression`
  t.match(found, [
    { pointer: at('accounts', 0), message: /"yes": use one of none, address, signature/ },
    { pointer: at('zones', 1), message: 'no agent has the edged.agent.name "GPTBt": did you mean "GPTBot"?' },
    { pointer: at('zones', 2), message: /did you mean "ai_crawler"\?/ },
    { pointer: at('zones', 3), message: /"Nobody at all": agents.catalogue can add it/ },
    { pointer: at('zones', 4), message: /"robot": use one of ai_crawler, / },
  ])
  t.equal(found.length, 5)
  t.end()
})
