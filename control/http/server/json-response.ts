import type { ApiMiddleware } from '../context.js'

/** Programs that print a body as it is. Without a final newline the prompt of the shell follows on the same line. */
const TERMINAL = /^(?:curl|wget|httpie|xh)\//i

/** Sets a JSON body, given as its value or as its bytes. It ends in a newline for clients that print it on a terminal. */
export function setJson(ctx: Parameters<ApiMiddleware>[0], body: object): void {
  if (!isTerminal(ctx)) {
    ctx.body = body
    if (Buffer.isBuffer(body)) ctx.type = 'json'
    return
  }
  ctx.body = Buffer.isBuffer(body) ? Buffer.concat([body, NEWLINE]) : `${JSON.stringify(body)}\n`
  ctx.type = 'json'
}

/** Whether the client prints bodies on a terminal, as its User-Agent tells. */
export const isTerminal = (ctx: Parameters<ApiMiddleware>[0]): boolean => TERMINAL.test(ctx.get('user-agent'))

const NEWLINE = Buffer.from('\n')
