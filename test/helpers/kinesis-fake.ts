import { gunzipSync } from 'node:zlib'
import type { Received, ReceiverResponse } from './http-receiver.js'
import { badSignature } from './s3-signature.js'

/** A fake of Kinesis and STS for signed requests: a handler for an HTTP receiver, and the texts of the records. */
export function kinesisFake(id: string, secret: string) {
  const records: { readonly key: string; readonly text: string }[] = []
  const asked: URLSearchParams[] = []
  const assumed = { id: 'ASIAROLE', secret: 'of/the+role', session: 'a-session-token' }

  function response({ method, target, headers, text, body }: Received): ReceiverResponse {
    const service = /\/(kinesis|sts)\/aws4_request/.exec(String(headers.authorization))?.[1]
    const session = headers['x-amz-security-token']
    const key = session === undefined ? { id, secret } : assumed
    const wrong = badSignature({ method, url: target, headers }, body, key.id, key.secret)
    if (wrong !== undefined || (session !== undefined && session !== assumed.session))
      return { status: 400, body: JSON.stringify({ __type: 'InvalidSignatureException', message: key.secret }) }
    return service === 'sts' ? role(text) : put(headers['x-amz-target'], text)
  }

  function put(target: unknown, text: string): ReceiverResponse {
    const { StreamName: stream, PartitionKey: name, Data: data } = JSON.parse(text) as Record<string, string>
    if (target !== 'Kinesis_20131202.PutRecord' || stream !== 'logs' || !name)
      return { status: 400, body: '{"__type":"ResourceNotFoundException"}' }
    const bytes = Buffer.from(data ?? '', 'base64')
    if (bytes.length + name.length > 1_048_576) return { status: 400, body: '{"__type":"ValidationException"}' }
    records.push({ key: name, text: gunzipSync(bytes).toString() })
    return { status: 200, body: '{"SequenceNumber":"1","ShardId":"shardId-000000000000"}' }
  }

  function role(text: string): ReceiverResponse {
    const form = new URLSearchParams(text)
    asked.push(form)
    if (form.get('ExternalId') !== 'outside')
      return { status: 403, body: '<ErrorResponse><Error><Code>AccessDenied</Code></Error></ErrorResponse>' }
    const { id: key, secret: own, session } = assumed
    const credentials = `<AccessKeyId>${key}</AccessKeyId><SecretAccessKey>${own}</SecretAccessKey><SessionToken>${session}</SessionToken>`
    const result = `<Credentials>${credentials}<Expiration>2026-11-21T13:00:00Z</Expiration></Credentials>`
    return {
      status: 200,
      body: `<AssumeRoleResponse><AssumeRoleResult>${result}</AssumeRoleResult></AssumeRoleResponse>`,
    }
  }

  return { response, records, asked }
}
