import { escaped } from './html.mjs'
import { searchButton } from './shell.mjs'

/** Doors of the start page: each has a page, a sentence, and places that people look for most. */
const DOORS = [
  {
    title: 'Start',
    to: 'getting-started.html',
    text: 'From a clone to HTTPS, a rule, a log job and a Worker in a quarter of an hour.',
    places: [
      ['The demo', 'getting-started.html#the-demo'],
      ['Your own site', 'getting-started.html#your-own-site'],
      ['Moving from nginx or Caddy', 'moving.html'],
    ],
  },
  {
    title: 'Markdown',
    to: 'markdown.html',
    text: 'Agents that ask for Markdown get the same pages, smaller and without navigation.',
    places: [
      ['What a client gets', 'markdown.html#what-a-client-gets'],
      ['Main content only', 'markdown.html#main-content'],
      ['AI agents and crawlers', 'agents.html'],
    ],
  },
  {
    title: 'Rules',
    to: 'rules.html',
    text: 'Block, redirect, rewrite, limit and cache requests by expressions.',
    places: [
      ['Error pages', 'rules.html#error-pages'],
      ['Challenges', 'rules.html#challenges'],
      ['Cache', 'cache.html'],
    ],
  },
  {
    title: 'Logs',
    to: 'logpush.html',
    text: 'Records of requests go to object stores, Kafka, HTTP endpoints and files.',
    places: [
      ['Where logs can go', 'logpush.html#where-logs-can-go'],
      ['Recipes per destination', 'recipes.html'],
      ['Webhooks', 'webhooks.html'],
    ],
  },
  {
    title: 'Workers',
    to: 'workers.html',
    text: 'Scripts at the edge, with KV, D1, R2, queues and Durable Objects.',
    places: [
      ['Upload with wrangler', 'workers.html'],
      ['Workers API', 'api-workers.html'],
      ['Storage API', 'api-storage.html'],
    ],
  },
  {
    title: 'Operate',
    to: 'operations.html',
    text: 'Listeners, metrics, backups, upgrades, and several machines.',
    places: [
      ['Backup and restore', 'operations.html#backup-and-restore'],
      ['Several machines', 'operations.html#several-machines'],
      ['Alarms', 'operations.html#alarms'],
    ],
  },
]

const links = (pairs) =>
  `<ul>${pairs.map(([text, to]) => `<li><a href="/docs/${to}">${escaped(text)}</a></li>`).join('')}</ul>`

/** Renders the start page. */
export function startPage(areas) {
  const doors = DOORS.map(
    ({ title, to, text, places }) =>
      `<section class="door"><h2><a href="/docs/${to}">${title}</a></h2><p>${escaped(text)}</p>${links(places)}</section>`,
  )
  return {
    file: 'index.html',
    title: 'Documentation',
    className: 'start',
    html: `<h1>Your own edge</h1>
<p class="lead">Markdown for agents, rules, cache, logs and Workers on your own machines.</p>
${searchButton('large')}
<div class="doors">${doors.join('\n')}</div>
<section class="reference"><h2>API reference</h2>
<p>Every endpoint with its permission, a line of curl and an example. How the API works is on <a href="/docs/api.html">one page</a>,
the OpenAPI document is <a href="/openapi.json">openapi.json</a>.</p>
${links(areas.map(({ label, file }) => [label, file]))}</section>`,
  }
}

/** Renders the page for unknown addresses. */
export const missingPage = () => ({
  file: '404.html',
  title: 'Page not found',
  className: 'start',
  html: `<h1>This page does not exist</h1>
<p class="lead">The address may be misspelled, or the page has moved. Search for it, or begin at the
<a href="/docs/">start page</a>.</p>
${searchButton('large')}`,
})
