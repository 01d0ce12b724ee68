import { createHash, createHmac } from 'node:crypto'
import type { IncomingMessage } from 'node:http'

/**
 * Verifies that a request is signed with a key, by AWS Signature Version 4. Written from its description by AWS,
 * independently of the library that signs. Returns the error code of S3 if the signature is invalid.
 */
export function badSignature(
  request: Pick<IncomingMessage, 'method' | 'url' | 'headers'>,
  body: Buffer,
  id: string,
  secret: string,
): string | undefined {
  const { authorization = '', ...headers } = request.headers
  const match = AUTHORIZATION.exec(authorization)
  if (!match) return 'AccessDenied'
  const [, given, day, region, service, signed, signature] = match as unknown as string[]
  if (given !== id) return 'InvalidAccessKeyId'

  // S3 requires the header; the others accept what they received.
  const hash = String(headers['x-amz-content-sha256'] ?? (service === 's3' ? '' : sha256(body)))
  if (hash.startsWith('STREAMING-')) return 'NotImplemented'
  if (hash !== sha256(body)) return 'XAmzContentSHA256Mismatch'

  const names = signed!.split(';')
  for (const name of Object.keys(headers))
    if ((name.startsWith('x-amz-') || name === 'host' || name === 'content-md5') && !names.includes(name))
      return 'AccessDenied'

  const url = new URL(request.url!, 'http://host')
  const query = [...url.searchParams].map(([name, value]) => `${encoded(name)}=${encoded(value)}`).sort()
  const canonical = [
    request.method,
    url.pathname,
    query.join('&'),
    ...names.map((name) => `${name}:${String(headers[name]).trim().replaceAll(/ +/g, ' ')}`),
    '',
    names.join(';'),
    hash,
  ].join('\n')
  const scope = `${day}/${region}/${service}/aws4_request`
  const text = ['AWS4-HMAC-SHA256', headers['x-amz-date'], scope, sha256(canonical)].join('\n')
  const key = [day!, region!, service!, 'aws4_request'].reduce<string | Buffer>(hmac, `AWS4${secret}`)
  return hmac(key, text).toString('hex') === signature ? undefined : 'SignatureDoesNotMatch'
}

const AUTHORIZATION =
  /^AWS4-HMAC-SHA256 Credential=([^/]+)\/(\d{8})\/([a-z0-9-]+)\/([a-z0-9]+)\/aws4_request, ?SignedHeaders=([a-z0-9;-]+), ?Signature=([0-9a-f]{64})$/

const sha256 = (text: string | Buffer): string => createHash('sha256').update(text).digest('hex')
const hmac = (key: string | Buffer, text: string): Buffer => createHmac('sha256', key).update(text).digest()
const encoded = (text: string): string =>
  encodeURIComponent(text).replaceAll(/[!'()*]/g, (char) => `%${char.charCodeAt(0).toString(16).toUpperCase()}`)
