import type { Readable } from 'node:stream'
import type { OriginConnection, OriginLimits, OriginRequest } from '../../src/http/origin-connection.js'
import { requestText, type RequestParts } from '../../src/http/request-text.js'
import { until } from '../helpers/web.js'

export const LIMITS: OriginLimits = {
  connect_timeout: 5000,
  headers_timeout: 5000,
  body_timeout: 5000,
  keep_alive_timeout: 4000,
  queue_timeout: 5000,
  header_bytes: 4096,
  connections: 2,
  queue_size: 8,
}
export const OK = 'HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok'

/** A request that stores its events. */
export class Asked implements OriginRequest {
  readonly method: string
  readonly upgrade = false
  readonly text: string
  readonly length: number | undefined
  readonly body: Readable | null
  readonly timeoutMs = undefined
  readonly client: string | undefined
  connection: OriginConnection | undefined
  status = 0
  got = ''
  error: Error | undefined
  over = false
  constructor(target = '/', parts: Partial<Omit<RequestParts, 'body'>> & { body?: Readable; client?: string } = {}) {
    const { method = 'GET', headers = ['Host', 'example.test'], body = null, client } = parts
    this.client = client
    this.method = method
    this.body = body
    const { text, length } = requestText({ method, target, headers, body, upgrade: false })
    this.text = text
    this.length = length
  }
  sent(): void {}
  head(status: number): void {
    this.status = status
  }
  data(chunk: Buffer): boolean {
    this.got += chunk.toString('latin1')
    return true
  }
  end(): void {
    this.over = true
  }
  switched(): void {}
  fail(error: Error): void {
    this.error = error
    this.over = true
  }
  async done(): Promise<this> {
    await until(() => this.over)
    return this
  }
}
