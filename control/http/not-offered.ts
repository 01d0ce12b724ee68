/** Products of the public API that edged does not have, by their paths below an account, with what to do instead. */
const NOT_OFFERED: readonly (readonly [path: RegExp, text: string])[] = [
  [
    /^workflows(?:\/|$)/,
    'Workflows do not run on this server; remove "workflows" from the configuration of the Worker, or use Durable Objects with alarms or a queue',
  ],
  [
    /^(?:containers|cloudchamber)(?:\/|$)/,
    'Containers do not run on this server; remove "containers" from the configuration of the Worker, or run the container beside edged as an origin',
  ],
  [
    /^(?:workers\/)?dispatch(?:\/|$)/,
    'Dispatch namespaces do not exist on this server; upload the script with PUT .../workers/scripts/NAME and give it a route or a domain',
  ],
  [
    /^pages(?:\/|$)/,
    'Pages projects do not exist on this server; deploy the site as a Worker with static assets: wrangler deploy --assets FOLDER',
  ],
  [/^(?:ai|ai-gateway)(?:\/|$)/, 'AI models do not run on this server; call the API of a provider with fetch()'],
  [/^vectorize(?:\/|$)/, 'Vectorize does not exist on this server; call a vector database with fetch()'],
  [
    /^browser-rendering(?:\/|$)/,
    'Browser Rendering does not exist on this server; call a browser service with fetch()',
  ],
]

/** Returns why a path of the public API does not exist here. Undefined for all other paths. */
export function notOffered(path: string): string | undefined {
  const [, below] = /^(?:\/client\/v4)?\/accounts\/[^/]+\/(.*)$/.exec(path) ?? []
  return below === undefined ? undefined : NOT_OFFERED.find(([prefix]) => prefix.test(below))?.[1]
}
