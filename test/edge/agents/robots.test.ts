import t from 'tap'
import { changedRobots } from '../../../src/edge/agents/robots.js'

const signal = 'ai-train=no, search=yes, ai-input=yes'
const none = { signal: undefined, blocked: [], allowed: [] }

t.test('without changes every byte remains', async (t) => {
  for (const text of [
    'User-agent: *\r\nDisallow: /x',
    '# only a comment',
    '\ufeffUser-agent: a\rDisallow:\n\n\nSitemap: x\n',
  ])
    t.equal(changedRobots(text, none), text)
})

t.test('a site without the file gets one that allows everything', async (t) => {
  t.equal(changedRobots(undefined, none), 'User-agent: *\nAllow: /\n')
  t.equal(changedRobots(undefined, { ...none, signal }), `User-agent: *\nContent-Signal: ${signal}\nAllow: /\n`)
  t.equal(changedRobots(' \n', { ...none, signal }), `User-agent: *\nContent-Signal: ${signal}\nAllow: /\n`)
})

t.test('the signal is written behind the User-agent lines of the group for all', async (t) => {
  t.equal(
    changedRobots('User-agent: x\nDisallow: /a\n\nUser-Agent : * # all\nUser-agent: y\n\nDisallow: /b\n', {
      ...none,
      signal,
    }),
    `User-agent: x\nDisallow: /a\n\nUser-Agent : * # all\nUser-agent: y\nContent-Signal: ${signal}\n\nDisallow: /b\n`,
  )
  t.equal(changedRobots('User-agent: *', { ...none, signal }), `User-agent: *\nContent-Signal: ${signal}\n`)
})

t.test('a file without a group for all gets one for the signal', async (t) => {
  t.equal(
    changedRobots('User-agent: x\nDisallow: /a', { ...none, signal }),
    `User-agent: x\nDisallow: /a\n\nUser-agent: *\nContent-Signal: ${signal}\nAllow: /\n`,
  )
})

t.test('a file that has a signal gets no other one', async (t) => {
  const text = 'User-agent: x\ncontent-signal: ai-train=yes\nDisallow: /a\n'
  t.equal(changedRobots(text, { ...none, signal }), text)
  const comment = 'User-agent: *\n# Content-Signal: ai-train=yes\nDisallow: /a\n'
  t.match(changedRobots(comment, { ...none, signal }), `User-agent: *\nContent-Signal: ${signal}\n# Content`)
})

t.test('a blocked crawler without a group gets one', async (t) => {
  t.equal(
    changedRobots('User-agent: *\nAllow: /\n', { ...none, blocked: ['GPTBot', 'CCBot'] }),
    'User-agent: *\nAllow: /\n\nUser-agent: GPTBot\nDisallow: /\n\nUser-agent: CCBot\nDisallow: /\n',
  )
})

t.test('a blocked crawler that has a group loses its Allow lines', async (t) => {
  t.equal(
    changedRobots('User-agent: gptbot\nAllow: /long/path\nDisallow: /x\nCrawl-delay: 2\n', {
      ...none,
      blocked: ['GPTBot'],
    }),
    'User-agent: gptbot\nDisallow: /\nDisallow: /x\nCrawl-delay: 2\n',
  )
  t.equal(
    changedRobots('User-agent: gptbot\nAllow: /a\nUser-agent: x\nAllow: /\nUser-agent: gptbot\nAllow: /b', {
      ...none,
      blocked: ['GPTBot'],
    }),
    'User-agent: gptbot\nDisallow: /\nUser-agent: x\nAllow: /\nUser-agent: gptbot\nDisallow: /\n',
    'in each of its groups',
  )
})

t.test('a blocked crawler leaves the group that it shares', async (t) => {
  t.equal(
    changedRobots('User-agent: GPTBot\nUser-agent: Googlebot\nAllow: /a\n', { ...none, blocked: ['GPTBot'] }),
    'User-agent: Googlebot\nAllow: /a\n\nUser-agent: GPTBot\nDisallow: /\n',
  )
  t.equal(
    changedRobots('User-agent: *\nUser-agent: GPTBot\nAllow: /a\n', { ...none, blocked: ['GPTBot'], signal }),
    `User-agent: *\nContent-Signal: ${signal}\nAllow: /a\n\nUser-agent: GPTBot\nDisallow: /\n`,
    'the signal remains',
  )
})

t.test('an allowed crawler gets a group with the rules for all, because it ignores those', async (t) => {
  t.equal(
    changedRobots('User-agent: *\nDisallow: /private # not here\nSitemap: https://x.test/s.xml\nCrawl-delay: 1\n', {
      ...none,
      signal,
      allowed: ['OAI-SearchBot'],
    }),
    `User-agent: *\nContent-Signal: ${signal}\nDisallow: /private # not here\nSitemap: https://x.test/s.xml\nCrawl-delay: 1\n` +
      `\nUser-agent: OAI-SearchBot\nContent-Signal: ${signal}\nDisallow: /private # not here\nCrawl-delay: 1\n`,
  )
  t.equal(
    changedRobots('User-agent: oai-searchbot\nDisallow: /x\n', { ...none, allowed: ['OAI-SearchBot'] }),
    'User-agent: oai-searchbot\nDisallow: /x\n',
    'not if it has one',
  )
  t.equal(
    changedRobots(undefined, { ...none, allowed: ['OAI-SearchBot'] }),
    'User-agent: *\nAllow: /\n\nUser-agent: OAI-SearchBot\nAllow: /\n',
  )
})

t.test('a long file takes time in proportion to its length', async (t) => {
  const text = 'User-agent: GPTBot\nAllow: /\n'.repeat(18_000) + ' '.repeat(10_000)
  const changed = changedRobots(text, { signal, blocked: ['GPTBot'], allowed: ['x'] })
  t.equal(changed.match(/Disallow: \//g)?.length, 18_000)
})

t.test('a long file with many allowed crawlers is not repeated for each', (t) => {
  const rules = Array.from({ length: 20_000 }, (_, at) => `Disallow: /${at}`).join('\n')
  const allowed = Array.from({ length: 100 }, (_, at) => `Crawler-${at}`)
  const text = `User-agent: *\n${rules}\n`
  const changed = changedRobots(text, { signal: 'search=yes', blocked: [], allowed })
  t.ok(changed.length < 2.1 * text.length)
  t.ok(allowed.every((token) => changed.includes(`User-agent: ${token}\n`)))
  t.end()
})
