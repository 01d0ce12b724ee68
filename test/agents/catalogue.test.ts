import t from 'tap'
import { BUILT_IN_CATALOGUE } from '../../src/agents/catalogue/catalogue.js'

/** Agents whose addresses, names or directories were never confirmed. */
const UNCONFIRMED = `Codex, DuckDuckBot, DuckAssistBot, MistralAI-User, PetalBot, YandexBot, Baiduspider, Yeti, SeznamBot, MojeekBot, Qwantbot,
  archive.org_bot, Arquivo-web-crawler, SemrushBot, DotBot, MJ12bot, StatusCake, Site24x7, DatadogSynthetics, Twitterbot,
  LinkedInBot, Slackbot, Discordbot, Pinterestbot`

t.test('an agent whose verification is not confirmed is known and never verified', (t) => {
  for (const name of UNCONFIRMED.split(',').map((one) => one.trim())) {
    const entry = BUILT_IN_CATALOGUE.get(name)
    t.ok(entry, name)
    t.strictSame(entry?.verify ?? {}, {}, name)
  }
  t.end()
})

t.test('an address of one agent does not belong to another operator', (t) => {
  const owners = new Map<string, string>()
  for (const { operator, verify } of BUILT_IN_CATALOGUE.values())
    for (const source of [...(verify?.ip_list ?? []), ...(verify?.rdns ?? []), ...(verify?.web_bot_auth ?? [])]) {
      t.equal(owners.get(source) ?? operator, operator, source)
      owners.set(source, operator)
    }
  t.end()
})
