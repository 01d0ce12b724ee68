import { promisify } from 'node:util'
import { gzip } from 'node:zlib'
import { Type } from 'typebox'
import { SinkError } from '../src/core/sink.js'
import { AccessTokens } from './http/access-tokens.js'
import { HttpClient } from './http/client.js'
import { SHOWN } from './http/http-sink.js'
import { arrayMessage } from './http/lines-sink.js'
import { linewise, type Lines } from './http/linewise.js'
import { httpParams, targetReader } from './http/target.js'
import { endpointOf } from './objects/bucket.js'
import { reject, secret, text } from './contract/params.js'
import { TEST_TEXT, type SinkType } from './contract/sink-type.js'

const PATH = '/logs/v1/singles'
const zip = promisify(gzip)

const OWN = Type.Object({
  ibm_api_key: secret('API key of IBM Cloud, exchanged for access tokens.'),
  iam_endpoint: Type.Optional(text('Server of the access tokens. Default: iam.cloud.ibm.com.')),
})
const read = targetReader(OWN)

/**
 * IBM Cloud Logs. JSON lines are sent as one array. Other text is sent unchanged, for example an array made by the
 * output options.
 */
export const ibmcl: SinkType = {
  scheme: 'ibmcl',
  form: `ibmcl://id.ingress.region.logs.cloud.ibm.com${PATH}`,
  summary: 'one array of JSON',
  params: httpParams(OWN, Type.Object({})),
  shown: [...SHOWN, 'iam_endpoint'],

  check(destination, deps) {
    placeOf(destination, deps)
  },

  open(destination, deps) {
    const { url, headers, key, iam } = placeOf(destination, deps)
    const client = new HttpClient(deps)
    const form = { grant_type: 'urn:ibm:params:oauth:grant-type:apikey', apikey: key }
    const tokens = new AccessTokens(() => ({ url: new URL(`${iam}/identity/token`), form }), client, deps.clock)

    const send = async (batch: Pick<Lines, 'lines'>, signal: AbortSignal): Promise<undefined> => {
      const message = arrayMessage(batch)
      const authorization = `Bearer ${await tokens.current(signal)}`
      const sent = { 'content-type': message.type, ...headers, authorization, 'content-encoding': 'gzip' }
      const response = await client.request({ url, headers: sent, body: await zip(message.text) }, signal)
      if (response.status === 401) {
        tokens.forget()
        throw new SinkError('transient', `${url.host} rejected the access token`)
      }
      if (response.status < 200 || response.status > 299) throw client.failure(url, response)
    }

    return {
      encoding: 'identity',
      // Of one request.
      limits: { bytes: 2_000_000 },
      daily: false,
      write: linewise(send),
      check: async (signal) => await send({ lines: [TEST_TEXT] }, signal),
      close: async () => client.close(),
    }
  },
}

function placeOf(destination: URL, deps: Parameters<typeof read>[1]) {
  const { url, headers, own } = read(destination, deps)
  if (url.pathname !== PATH) reject(`must have the path ${PATH}`)
  if (headers['authorization'] !== undefined) reject('has an authorization of its own; use ibm_api_key')
  return { url, headers, key: own.ibm_api_key, iam: endpointOf(own.iam_endpoint ?? 'iam.cloud.ibm.com', deps) }
}
