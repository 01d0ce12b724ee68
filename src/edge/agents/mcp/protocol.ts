import { headerOf, type RawHeaders } from '../../../http/headers.js'
import { TOOLS } from './tools.js'

/** The revision without a session, which names its version in each request. */
const STATELESS = '2026-07-28'
/** Revisions that begin with `initialize`, the latest first. */
const EARLIER = ['2025-11-25', '2025-06-18', '2025-03-26'] as const
const SUPPORTED: readonly string[] = [STATELESS, ...EARLIER]

const META_VERSION = 'io.modelcontextprotocol/protocolVersion'

/** How long clients may use lists, which change with the version of edged only. */
const TTL_MS = 3_600_000

// JSON-RPC 2.0, 5.1, and errors of the revision of 2026-07-28.
const PARSE_ERROR = -32700
const INVALID_REQUEST = -32600
const UNKNOWN_METHOD = -32601
const INVALID_PARAMS = -32602
const CONTRADICTION = -32020
const UNKNOWN_VERSION = -32022

type Json = Record<string, unknown>
type Id = string | number | null

/** A response to a message. */
export interface McpResponse {
  readonly status: number
  /** Undefined if it has no body. */
  readonly body?: Json
  /** Header fields: name, value. */
  readonly headers?: readonly string[]
}

/** The server as it describes itself. */
export interface McpServer {
  readonly name: string
  readonly title: string
  readonly version: string
  readonly instructions: string
}

/** A call of a tool, with the function that creates the response to it. */
export interface ToolCall {
  readonly tool: string
  readonly given: Json
  /** Returns the response with the result of the tool. */
  readonly respond: (result: Json) => McpResponse
  /** Returns the response for parameters that are not valid. */
  readonly refuse: (message: string) => McpResponse
}

/** Returns an error of JSON-RPC 2.0. */
export const failed = (status: number, code: number, message: string, id: Id = null, data?: Json): McpResponse => ({
  status,
  body: { jsonrpc: '2.0', id, error: { code, message, ...(data && { data }) } },
})

/** Returns the response to one message of a client, or the call of a tool that it asks for. */
export function received(text: string, headers: RawHeaders, server: McpServer): McpResponse | ToolCall {
  let message: unknown
  try {
    message = JSON.parse(text)
  } catch {
    return failed(400, PARSE_ERROR, 'the body is not JSON')
  }
  if (Array.isArray(message)) return failed(400, INVALID_REQUEST, 'batches are not supported')
  if (!isObject(message) || message['jsonrpc'] !== '2.0')
    return failed(400, INVALID_REQUEST, 'the body is not a message of JSON-RPC 2.0')
  const { id, method, params = {} } = message
  if (method === undefined && ('result' in message || 'error' in message)) return { status: 202 }
  if (typeof method !== 'string') return failed(400, INVALID_REQUEST, 'method must be a string')
  if (id !== undefined && typeof id !== 'string' && typeof id !== 'number')
    return failed(400, INVALID_REQUEST, 'id must be a string or a number')
  if (!isObject(params)) return failed(400, INVALID_REQUEST, 'params must be an object', id ?? null)
  const version = versionOf({ method, params, id: id ?? null }, headers)
  if (typeof version !== 'string') return version
  if (id === undefined) return { status: 202 }
  return version === STATELESS ? stateless({ id, method, params }, server) : withSession({ id, method, params }, server)
}

interface Request {
  readonly id: Id
  readonly method: string
  readonly params: Json
}

/** Returns the revision of a message, or the error of one that contradicts its header fields. */
function versionOf({ id, method, params }: Request, headers: RawHeaders): string | McpResponse {
  const field = headerOf(headers, 'mcp-protocol-version')
  const meta = isObject(params['_meta']) ? params['_meta'][META_VERSION] : undefined
  const version = field ?? meta
  // Clients of 2025-03-26 do not name it.
  if (version === undefined || (method === 'initialize' && meta === undefined)) return EARLIER.at(-1)!
  if (typeof version !== 'string' || !SUPPORTED.includes(version)) {
    const requested = shown(version)
    const message = `protocol version ${requested} is not supported`
    return failed(400, UNKNOWN_VERSION, message, id, { supported: SUPPORTED, requested })
  }
  if (version !== STATELESS && meta === undefined) return version
  if (field !== meta)
    return failed(400, CONTRADICTION, `MCP-Protocol-Version and _meta["${META_VERSION}"] must be the same`, id)
  if (headerOf(headers, 'mcp-method') !== method)
    return failed(400, CONTRADICTION, 'Mcp-Method must be the method of the message', id)
  if (method === 'tools/call' && plain(headerOf(headers, 'mcp-name')) !== params['name'])
    return failed(400, CONTRADICTION, 'Mcp-Name must be the name of the tool', id)
  return version
}

/** Returns a value that may be encoded because it is not a valid field value. */
function plain(value: string | undefined): string | undefined {
  const encoded = /^=\?base64\?([A-Za-z0-9+/=]*)\?=$/.exec(value ?? '')?.[1]
  return encoded === undefined ? value : Buffer.from(encoded, 'base64').toString()
}

function stateless({ id, method, params }: Request, server: McpServer): McpResponse | ToolCall {
  const { instructions, ...serverInfo } = server
  const complete = (result: Json, isList = false): McpResponse =>
    succeeded(id, {
      resultType: 'complete',
      ...result,
      ...(isList && { ttlMs: TTL_MS, cacheScope: 'public' }),
      _meta: { 'io.modelcontextprotocol/serverInfo': serverInfo },
    })
  switch (method) {
    case 'server/discover':
      return complete({ supportedVersions: SUPPORTED, capabilities: { tools: {} }, serverInfo, instructions }, true)
    case 'tools/list':
      return complete({ tools: TOOLS }, true)
    case 'tools/call':
      return call({ id, params }, complete)
    default:
      return failed(404, UNKNOWN_METHOD, `method ${method} is not known`, id)
  }
}

function withSession({ id, method, params }: Request, server: McpServer): McpResponse | ToolCall {
  const { instructions, ...serverInfo } = server
  switch (method) {
    case 'initialize': {
      const asked = EARLIER.find((version) => version === params['protocolVersion'])
      const protocolVersion = asked ?? EARLIER[0]
      return succeeded(id, { protocolVersion, capabilities: { tools: {} }, serverInfo, instructions })
    }
    case 'ping':
      return succeeded(id, {})
    case 'tools/list':
      return succeeded(id, { tools: TOOLS })
    case 'tools/call':
      return call({ id, params }, (result) => succeeded(id, result))
    default:
      return failed(200, UNKNOWN_METHOD, `method ${method} is not known`, id)
  }
}

function call(
  { id, params }: Pick<Request, 'id' | 'params'>,
  respond: (result: Json) => McpResponse,
): McpResponse | ToolCall {
  const { name, arguments: given = {} } = params
  const refuse = (message: string) => failed(200, INVALID_PARAMS, message, id)
  if (typeof name !== 'string' || !TOOLS.some((tool) => tool.name === name))
    return refuse(`tool ${shown(name)} is not known`)
  if (!isObject(given)) return refuse('arguments must be an object')
  return { tool: name, given, respond, refuse }
}

/** Returns a value of a client for a message. Other values than texts can be nested too deeply to be written. */
const shown = (value: unknown): string => (typeof value === 'string' ? value.slice(0, 100) : `of type ${typeof value}`)

const succeeded = (id: Id, result: Json): McpResponse => ({ status: 200, body: { jsonrpc: '2.0', id, result } })

const isObject = (value: unknown): value is Json => typeof value === 'object' && value !== null && !Array.isArray(value)
