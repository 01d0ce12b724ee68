import { existsSync } from 'node:fs'
import { generateKeyPairSync, webcrypto, type webcrypto as Crypto } from 'node:crypto'
import { once } from 'node:events'
import { connect } from 'node:http2'
import { request, type RequestOptions } from 'node:https'
import type { IncomingMessage } from 'node:http'
import { fileURLToPath } from 'node:url'
import t, { type Test } from 'tap'
import type { Verdict } from '../../../src/agents/signatures/verify.js'
import { DIRECTORY_TYPE } from '../../../src/agents/signatures/directories.js'
import { testIdentity } from '../../helpers/agents.js'
import { startOrigin, startProxy, testZone } from '../../helpers/proxy.js'
import { tlsFile } from '../../helpers/tls.js'

/*
 * Requests that other implementations sign: npm `web-bot-auth` and `http-message-sig`, which `npm install --prefix test/peers`
 * installs.
 */
const peer = (path: string) => fileURLToPath(new URL(`../../peers/node_modules/${path}`, import.meta.url))
const WEB_BOT_AUTH = peer('web-bot-auth/dist/index.mjs')
const MESSAGE_SIG = peer('http-message-sig/dist/index.mjs')
const skip = existsSync(WEB_BOT_AUTH) && existsSync(MESSAGE_SIG) ? false : 'npm install --prefix test/peers'

type Fields = Record<string, string>

/** The parts of `web-bot-auth` that the test uses. */
interface WebBotAuth {
  signatureHeaders(
    message: { method: string; url: string; headers: Fields },
    signer: unknown,
    parameters: { created: Date; expires: Date; key?: string },
  ): Promise<{ Signature: string; 'Signature-Input': string }>
}
interface WebBotAuthCrypto {
  signerFromJWK(jwk: object): Promise<{ keyid: string }>
}

/** The parts of `http-message-sig` that the test uses. */
interface MessageSig {
  component(name: string, parameters: object): object
  createSignature(
    message: {
      kind: 'request'
      method: string
      targetUri: string
      requestTarget: string
      fields: { name: string; value: string }[]
    },
    options: { label: string; components: (string | object)[]; parameters: object; signer: unknown },
  ): Promise<{ signature: string; signatureInput: string }>
  readonly webcrypto: { signer(key: Crypto.CryptoKey): unknown }
}

const AGENT = 'https://signer.example'
const HOST = 'example.test'
const TARGET = '/page?a=1&b=%C3%A4'

/** Starts a site over HTTPS. `send` returns the outcome of the signature over one of the two protocols. */
async function setup(t: Test, keys: readonly object[]) {
  const verdicts: Verdict[] = []
  const agents = testIdentity(t, {
    fetchKeys: async () => ({
      status: 200,
      type: DIRECTORY_TYPE,
      headers: {},
      bytes: Buffer.from(JSON.stringify({ keys })),
    }),
    judged: (verdict) => void verdicts.push(verdict),
  })
  const origin = await startOrigin(t, (_, response) => response.end('page'))
  const certificate = `{ cert_file: '${tlsFile('cert.pem')}', key_file: '${tlsFile('key.pem')}' }`
  const proxy = await startProxy(t, [testZone(origin.url)], {
    yaml: `{ tls: { listen: 127.0.0.1:0, http2: on, certificates: [${certificate}] } }`,
    agents,
  })
  const { port } = proxy.tls!
  const over = {
    'HTTP/1.1': async (fields: Fields, path: string) => {
      const options: RequestOptions = {
        port,
        path,
        agent: false,
        rejectUnauthorized: false,
        servername: 'receiver.test',
      }
      const sent = request({ ...options, host: '127.0.0.1', headers: { host: HOST, ...fields } }).end()
      const [response] = (await once(sent, 'response')) as [IncomingMessage]
      response.resume()
      await once(response, 'end')
    },
    'HTTP/2': async (fields: Fields, path: string) => {
      const session = connect(`https://127.0.0.1:${port}`, { rejectUnauthorized: false, servername: 'receiver.test' })
      const stream = session.request({ ':authority': HOST, ':path': path, ...fields }).resume()
      await once(stream, 'end')
      session.close()
      await once(session, 'close')
    },
  }
  const send = async (protocol: keyof typeof over, fields: Fields, path = TARGET): Promise<string> => {
    await over[protocol](fields, path)
    return verdicts.at(-1)!.outcome
  }
  const warm = async (fields: Fields) => {
    await send('HTTP/1.1', fields)
    await agents.directories.settled()
  }
  return { send, warm, protocols: Object.keys(over) as (keyof typeof over)[] }
}

const pairOf = (type: 'ed25519' | 'rsa') =>
  type === 'rsa' ? generateKeyPairSync('rsa', { modulusLength: 2048 }) : generateKeyPairSync('ed25519')

t.test('web-bot-auth signs', { skip }, async (t) => {
  const { signatureHeaders } = (await import(WEB_BOT_AUTH)) as WebBotAuth
  const { signerFromJWK } = (await import(peer('web-bot-auth/dist/crypto.mjs'))) as WebBotAuthCrypto
  for (const type of ['ed25519', 'rsa'] as const) {
    const { privateKey, publicKey } = pairOf(type)
    const more = type === 'rsa' ? { alg: 'PS512' } : {}
    const signer = await signerFromJWK({ ...privateKey.export({ format: 'jwk' }), ...more })
    const { send, warm, protocols } = await setup(t, [publicKey.export({ format: 'jwk' })])
    const signed = async (host = HOST): Promise<Fields> => {
      const headers = { 'signature-agent': `"${AGENT}"` }
      const created = new Date()
      const expires = new Date(created.getTime() + 300_000)
      const got = await signatureHeaders({ method: 'GET', url: `https://${host}${TARGET}`, headers }, signer, {
        created,
        expires,
      })
      return { ...headers, signature: got.Signature, 'signature-input': got['Signature-Input'] }
    }
    await warm(await signed())
    for (const protocol of protocols) {
      t.equal(await send(protocol, await signed()), 'verified', `${type} over ${protocol}`)
      t.equal(await send(protocol, await signed('other.test')), 'invalid', `for another host over ${protocol}`)
    }
  }
})

t.test('http-message-sig signs each component that edged knows', { skip }, async (t) => {
  const { component, createSignature, webcrypto: providers } = (await import(MESSAGE_SIG)) as MessageSig
  const { privateKey, publicKey } = pairOf('ed25519')
  const key = await webcrypto.subtle.importKey('jwk', privateKey.export({ format: 'jwk' }), 'Ed25519', true, ['sign'])
  const jwk = publicKey.export({ format: 'jwk' })
  const { crv, kty, x } = jwk
  const digest = await webcrypto.subtle.digest('SHA-256', Buffer.from(JSON.stringify({ crv, kty, x })))
  const keyid = Buffer.from(digest).toString('base64url')
  const { send, warm, protocols } = await setup(t, [jwk])
  const member = component('signature-agent', { key: 'mine' })
  const covered = [
    '@method',
    '@authority',
    '@scheme',
    '@target-uri',
    '@request-target',
    '@path',
    '@query',
    'x-other',
    'crawler-max-price',
  ]
  const signed = async (components: (string | object)[], label = 'mine'): Promise<Fields> => {
    const fields: Fields = {
      'signature-agent': `other="https://other.example", mine="${AGENT}"`,
      'x-other': '  a,  b ',
      'crawler-max-price': 'USD 1',
    }
    const now = Math.floor(Date.now() / 1000)
    const message = {
      kind: 'request' as const,
      method: 'GET',
      targetUri: `https://${HOST}${TARGET}`,
      requestTarget: TARGET,
      fields: Object.entries(fields).map(([name, value]) => ({ name, value: value.trim() })),
    }
    const parameters = {
      created: now,
      expires: now + 300,
      keyid,
      alg: 'ed25519',
      nonce: 'bm9uY2U',
      tag: 'web-bot-auth',
    }
    const got = await createSignature(message, { label, components, parameters, signer: providers.signer(key) })
    return { ...fields, 'x-other': 'a,  b', signature: got.signature, 'signature-input': got.signatureInput }
  }
  await warm(await signed([member, '@authority']))
  for (const protocol of protocols) {
    for (const name of covered)
      t.equal(
        await send(protocol, await signed([member, '@authority', ...(name === '@authority' ? [] : [name])])),
        'verified',
        `${name} over ${protocol}`,
      )
    t.equal(await send(protocol, await signed([...covered, member])), 'verified', `all over ${protocol}`)
    t.equal(
      await send(protocol, await signed([member, '@authority'], 'label')),
      'verified',
      `another label over ${protocol}`,
    )
    t.equal(
      await send(protocol, await signed([member, '@target-uri']), '/other'),
      'invalid',
      `another path over ${protocol}`,
    )
    const changed = await signed([member, '@authority', 'crawler-max-price'])
    t.equal(
      await send(protocol, { ...changed, 'crawler-max-price': 'USD 2' }),
      'invalid',
      `another price over ${protocol}`,
    )
    t.equal(await send(protocol, await signed(['@authority'])), 'invalid', `no agent over ${protocol}`)
  }
})
