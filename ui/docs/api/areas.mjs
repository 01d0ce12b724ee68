/** Areas of the reference, in the order of the menu. `tags` are tags of the OpenAPI document. */
export const AREAS = [
  {
    name: 'zones',
    label: 'Zones',
    about: 'Zones with their settings, custom hostnames, certificates and cached responses.',
    tags: ['zones', 'settings', 'managed_headers', 'url_normalization', 'purge_cache', 'custom_hostnames', 'ssl'],
  },
  {
    name: 'rules',
    label: 'Rules',
    about: 'Rulesets and their rules, lists, error pages, and the tracer, which shows which rules a request meets.',
    tags: ['rulesets', 'rules', 'request-tracer', 'custom_pages'],
  },
  {
    name: 'logs',
    label: 'Logs',
    about: 'Log push jobs and their destinations, datasets, records of your own, and logs that are read back.',
    tags: ['logpush', 'logs', 'destinations', 'datasets', 'records', 'tail', 'pipelines'],
  },
  {
    name: 'webhooks',
    label: 'Webhooks',
    about: 'Webhooks with their deliveries, policies and findings.',
    tags: ['data-security', 'findings', 'signing_secrets'],
  },
  {
    name: 'workers',
    label: 'Workers',
    about: 'Scripts with versions, deployments, secrets, routes, domains, schedules and tails.',
    tags: ['workers', 'worker-data'],
  },
  {
    name: 'storage',
    label: 'Storage',
    about: 'Storage of Workers: KV, D1, R2, queues, the secrets store and Hyperdrive.',
    tags: ['storage', 'd1', 'r2', 'queues', 'secrets_store', 'hyperdrive'],
  },
  {
    name: 'tokens',
    label: 'Tokens and accounts',
    about: 'API tokens and their permissions, accounts, and audit logs.',
    tags: ['user', 'tokens', 'accounts', 'memberships', 'audit_logs'],
  },
  {
    name: 'ours',
    label: 'Only in edged',
    about: 'Endpoints that the public API does not have: state, figures over time, requests, trials, expressions.',
    tags: [],
  },
]

/** Returns the area of a tag. Tags that no area lists belong to the last one. */
export const areaOf = (tag) => AREAS.find(({ tags }) => tags.includes(tag)) ?? AREAS.at(-1)

/** Returns the part of a path after its account or zone. */
export const tailOf = (path) => path.replace(/^\/(?:accounts\/\{account_id\}|zones\/\{zone_id\})(?=\/.)/, '')
