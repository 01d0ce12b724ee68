import { generateKeyPairSync, verify } from 'node:crypto'
import t, { type Test } from 'tap'
import { sinkContract, type SinkPlace } from '../contracts/sink.js'
import { openEgress } from '../helpers/egress.js'
import { httpReceiver, type Received, type ReceiverResponse } from '../helpers/http-receiver.js'

/** How the fake of a destination differs: its address, the credential that it wants, and what it makes of a request. */
interface Fake {
  readonly conf: (host: string) => string
  readonly secret: string
  /** Strict as the real one: what it refuses. */
  readonly wrong: (request: Received) => boolean
  /** The text of a batch, out of a request. */
  readonly text?: (request: Received) => string
  readonly begin?: () => { response(request: Received): ReceiverResponse; delivered(): string[] }
  readonly overwrites?: boolean
}

const SECRET = 's3cr3t+Value/=='
const ENCODED = encodeURIComponent(SECRET)

/** The documents of an index, by id; a batch is what has ids that begin in the same way. */
function elasticFake() {
  const documents = new Map<string, string>()
  return {
    response({ text }: Received): ReceiverResponse {
      const items = text.split('\n').slice(0, -1)
      const statuses = []
      for (let at = 0; at < items.length; at += 2) {
        const { create } = JSON.parse(items[at]!) as { create: { _id: string } }
        JSON.parse(items[at + 1]!)
        statuses.push({ create: { status: documents.has(create._id) ? 409 : 201 } })
        documents.set(create._id, items[at + 1]!)
      }
      const errors = statuses.some(({ create }) => create.status !== 201)
      return { status: 200, body: JSON.stringify({ errors, items: statuses }) }
    },
    delivered() {
      const batches = new Map<string, string>()
      for (const [id, document] of documents) {
        const name = id.replace(/-\d+$/, '')
        batches.set(name, `${batches.get(name) ?? ''}${document}\n`)
      }
      return [...batches.values()]
    },
  }
}

const lokiStream = (text: string) =>
  (JSON.parse(text) as { streams: [{ stream: Record<string, string>; values: [string, string][] }] }).streams[0]

const { privateKey, publicKey } = generateKeyPairSync('rsa', { modulusLength: 2048 })
const PEM = privateKey.export({ type: 'pkcs8', format: 'pem' })

const bqConf = (host: string) => {
  const account = { client_email: 'a@b.test', private_key: PEM, token_uri: `https://${host}/token` }
  const credentials = Buffer.from(JSON.stringify(account)).toString('base64')
  return `bq://projects/p-1/datasets/d/tables/t?endpoint=${host}&credentials=base64:${encodeURIComponent(credentials)}`
}

/** A token for whoever signs an assertion, and a table that takes rows of such. */
function bqFake() {
  const batches: string[] = []
  return {
    response({ target, headers, text }: Received): ReceiverResponse {
      if (target === '/token') {
        const [head = '', claims = '', signature = ''] = new URLSearchParams(text).get('assertion')?.split('.') ?? []
        const good = verify(
          'RSA-SHA256',
          Buffer.from(`${head}.${claims}`),
          publicKey,
          Buffer.from(signature, 'base64url'),
        )
        const { iss, scope } = JSON.parse(Buffer.from(claims, 'base64url').toString()) as Record<string, unknown>
        if (!good || iss !== 'a@b.test' || typeof scope !== 'string') return { status: 401 }
        return { status: 200, body: JSON.stringify({ access_token: 'good', expires_in: 3600 }) }
      }
      if (target !== '/bigquery/v2/projects/p-1/datasets/d/tables/t/insertAll') return { status: 404 }
      if (headers.authorization !== 'Bearer good') return { status: 401 }
      JSON.parse(text)
      batches.push(text)
      return { status: 200, body: '{"kind":"bigquery#tableDataInsertAllResponse"}' }
    },
    delivered: () =>
      batches.map((text) =>
        text
          .slice(text.indexOf('[') + 1, -2)
          .split(/,?\{"insertId":"[^"]+","json":/)
          .map((row) => row.slice(0, -1))
          .slice(1)
          .map((row) => `${row}\n`)
          .join(''),
      ),
  }
}

/** A token for an API key, and a collector that takes arrays with it. */
function ibmFake() {
  const batches: string[] = []
  return {
    response({ target, headers, text }: Received): ReceiverResponse {
      if (target === '/identity/token') {
        const { grant_type: grant, apikey } = Object.fromEntries(new URLSearchParams(text))
        if (grant !== 'urn:ibm:params:oauth:grant-type:apikey' || apikey !== SECRET) return { status: 400 }
        return { status: 200, body: JSON.stringify({ access_token: 'good', expires_in: 3600 }) }
      }
      if (target !== '/logs/v1/singles') return { status: 404 }
      if (headers.authorization !== 'Bearer good') return { status: 401 }
      const records = JSON.parse(text) as unknown[]
      batches.push(records.map((record) => `${JSON.stringify(record)}\n`).join(''))
      return { status: 200 }
    },
    delivered: () => batches,
  }
}

const BULK = '/logs/_bulk?pipeline=p&filter_path=errors,items.create.status,items.create.error.type'

const FAKES: Readonly<Record<string, Fake>> = {
  https: {
    conf: (host) => `https://${host}/in?header_Authorization=Bearer%20${ENCODED}&keep=a%2Fb`,
    secret: SECRET,
    wrong: ({ target, headers }) => target !== '/in?keep=a%2Fb' || headers.authorization !== `Bearer ${SECRET}`,
  },
  splunk: {
    conf: (host) =>
      `splunk://${host}/services/collector/raw?channel=7f0c&insecure-skip-verify=false&sourcetype=json&header_Authorization=Splunk%20${ENCODED}`,
    secret: SECRET,
    wrong: ({ target, headers }) =>
      target !== '/services/collector/raw?channel=7f0c&sourcetype=json' || headers.authorization !== `Splunk ${SECRET}`,
  },
  sentinelone: {
    conf: (host) =>
      `sentinelone://${host}/services/collector/raw?sourcetype=json&header_Authorization=Bearer+${ENCODED}`,
    secret: SECRET,
    wrong: ({ target, headers }) =>
      target !== '/services/collector/raw?sourcetype=json' || headers.authorization !== `Bearer ${SECRET}`,
  },
  sumo: {
    conf: (host) => `sumo://${host}/receiver/v1/http/${ENCODED}`,
    secret: ENCODED,
    wrong: ({ target }) => target !== `/receiver/v1/http/${ENCODED}`,
  },
  newrelic: {
    conf: (host) => `newrelic://${host}/log/v1?Api-Key=${ENCODED}&format=cloudflare`,
    secret: ENCODED,
    wrong: ({ target }) => target !== `/log/v1?Api-Key=${ENCODED}&format=cloudflare`,
  },
  datadog: {
    conf: (host) => `datadog://${host}/api/v2/logs?header_DD-API-KEY=${ENCODED}&ddsource=cloudflare&service=a`,
    secret: SECRET,
    wrong: ({ target, headers, text }) =>
      target !== '/api/v2/logs?ddsource=cloudflare&service=a' ||
      headers['dd-api-key'] !== SECRET ||
      headers['content-type'] !== 'application/json' ||
      !Array.isArray(JSON.parse(text)),
    text: ({ text }) => `${text.slice(1, -1).replaceAll('},{', '}\n{')}\n`,
  },
  elasticsearch: {
    conf: (host) => `elasticsearch://elastic:${ENCODED}@${host}/logs/?pipeline=p`,
    secret: SECRET,
    wrong: ({ target, headers }) =>
      target !== BULK ||
      headers.authorization !== `Basic ${Buffer.from(`elastic:${SECRET}`).toString('base64')}` ||
      headers['content-type'] !== 'application/x-ndjson',
    begin: elasticFake,
    overwrites: true,
  },
  ibmcl: {
    conf: (host) => `ibmcl://${host}/logs/v1/singles?ibm_api_key=${ENCODED}&iam_endpoint=${host}`,
    secret: SECRET,
    wrong: () => false,
    begin: ibmFake,
  },
  bq: {
    conf: bqConf,
    secret: PEM.toString().slice(100, 140),
    wrong: () => false,
    begin: bqFake,
  },
  loki: {
    conf: (host) => `loki://${host}?labels=job:edged,env:prod&time=batch&header_X-Scope-OrgID=${ENCODED}`,
    secret: SECRET,
    wrong: ({ target, headers, text }) => {
      const { stream, values } = lokiStream(text)
      return (
        target !== '/loki/api/v1/push' ||
        headers['x-scope-orgid'] !== SECRET ||
        JSON.stringify(stream) !== '{"job":"edged","env":"prod"}' ||
        values.some(([at], index) => BigInt(at) !== BigInt(values[0]![0]) + BigInt(index))
      )
    },
    text: ({ text }) =>
      lokiStream(text)
        .values.map(([, line]) => `${line}\n`)
        .join(''),
  },
}

for (const [name, fake] of Object.entries(FAKES))
  t.test(name, async (t) => {
    const { wrong, text = (request: Received) => request.text, overwrites = false } = fake
    const place = async (t: Test): Promise<SinkPlace> => {
      const begun = fake.begin?.()
      const receiver = await httpReceiver(t, {
        response(request) {
          if (request.method !== 'POST' || wrong(request)) return { status: 400 }
          return begun?.response(request) ?? { status: 200 }
        },
      })
      return {
        conf: fake.conf(receiver.host),
        egress: await openEgress([receiver.server]),
        secrets: [fake.secret],
        delivered: () => begun?.delivered() ?? receiver.accepted.map(text),
        fail: (fault) => (receiver.fault = fault),
        failed: () => receiver.failed,
        connections: receiver.connections,
      }
    }
    sinkContract(t, place, { overwrites })
  })
