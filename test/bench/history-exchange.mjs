// Finished requests as the history counts them, with the members that it reads.

const AGENTS = [
  ['GPTBot', 'OpenAI', 'ai_crawler'],
  ['ClaudeBot', 'Anthropic', 'ai_crawler'],
  ['Googlebot', 'Google', 'search_engine'],
].map(([name, operator, category]) => ({ name, operator, category, verified: 'none' }))
const HEADERS = ['Date', 'x', 'Cache-Control', 'x', 'Content-Type', 'text/html; charset=utf-8', 'Vary', 'accept']
const RULE = { ruleset: 'a'.repeat(32), rule: 'b'.repeat(32), description: 'Agents that ask for Markdown' }

/** Returns the request with this number to one of `paths` paths: a tenth by agents, half of them cached, 5 % errors. */
export function finishedExchange(number, paths, zone) {
  const isCached = number % 2 === 0
  const path = Math.floor(paths * (number * 0.618_034 - Math.floor(number * 0.618_034)) ** 2)
  return {
    zone,
    clientAddress: '192.0.2.1',
    startedMonotonic: performance.now() - (number % 300),
    method: number % 9 === 0 ? 'POST' : 'GET',
    host: number % 3 === 0 ? 'www.example.test' : 'example.test',
    rawTarget: `/articles/page-${path}`,
    matches: number % 10 === 0 ? [RULE] : [],
    sent: { status: number % 20 === 0 ? 404 : 200, bodyBytes: 10_000 + (number % 977), headers: HEADERS },
    caching: { status: isCached ? 'HIT' : 'MISS', bytes: isCached ? 9000 : 0, response: isCached ? {} : undefined },
    origin: {
      url: isCached ? undefined : 'http://127.0.0.1:9000',
      askedAt: isCached ? undefined : 10,
      respondedAt: 10 + (number % 50),
      bytes: isCached ? 0 : 10_000,
    },
    conversion: undefined,
    agent: number % 10 === 1 ? AGENTS[number % AGENTS.length] : undefined,
    agentAction: undefined,
    charged: undefined,
    worker: undefined,
  }
}
