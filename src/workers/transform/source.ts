/*
 * Modules of our own that call a user's transform inside workerd.
 */

/** Maximum records that one record can become. */
export const MAX_OUTPUTS = 10_000
/** Maximum length of the text of a record, in UTF-16 units. */
const MAX_RECORD_CHARACTERS = 2 ** 20
/** A response ends after the record that exceeds this length, in UTF-16 units. The other records are sent again. */
const MAX_RESPONSE_CHARACTERS = 8 * 2 ** 20

/** Functions as they are before any code of the user runs. */
export const BUILT_IN_SOURCE = `const { call } = Function.prototype
const unbound = (method) => call.bind(method)
export const { parse, stringify, rawJSON } = JSON
export const { isArray } = Array
export const { isInteger, isSafeInteger } = Number
export const number = Number, text = String, integer = BigInt, Answer = Response
export const bodyOf = unbound(Request.prototype.text)
export const indexOf = unbound(String.prototype.indexOf)
export const slice = unbound(String.prototype.slice)
export const codeAt = unbound(String.prototype.charCodeAt)
export const exec = unbound(RegExp.prototype.exec)
export const namesOf = Object.keys
const digits = unbound(BigInt.prototype.toString)
// Integers beyond 2^53 are read as BigInt and written with all their digits.
BigInt.prototype.toJSON = function () {
  return rawJSON(digits(this))
}
`

/**
 * Returns the main module. A request has one JSON text per line. The response has an outcome for each text: a line with
 * the number of new records and then one line per new record, or an exclamation mark and the JSON text of the reason.
 * The response to an empty request is the reason why the module cannot be a transform, or empty.
 */
export const transformSource = (main: string, builtIn: string): string => `import {
  Answer, bodyOf, codeAt, exec, indexOf, integer, isArray, isInteger, isSafeInteger, namesOf, number, parse, slice, stringify, text,
} from ${JSON.stringify(`./${builtIn}`)}
import * as user from ${JSON.stringify(`./${main}`)}
const MAX_OUTPUTS = ${MAX_OUTPUTS}, MAX_RECORD = ${MAX_RECORD_CHARACTERS}, MAX_RESPONSE = ${MAX_RESPONSE_CHARACTERS}
const LONG = /[:,[]\\s*-?\\d{16}/g
const DIGITS = /[ \\t]*(-?\\d+)[ \\t]*[,}]/y
const exact = (key, value, context) =>
  isInteger(value) && !isSafeInteger(value) && context.source !== undefined && exec(/^-?\\d+$/, context.source)
    ? integer(context.source)
    : value
// The slow way is exact for any text. Large integers at the top level, such as times in nanoseconds, take the fast way.
const read = (line) => {
  LONG.lastIndex = 0
  let long = 0
  while (exec(LONG, line)) long++
  if (long === 0) return parse(line)
  const record = parse(line)
  const names = namesOf(record)
  for (let at = 0; at < names.length; at++) {
    const name = names[at]
    const value = record[name]
    if (!isInteger(value)) continue
    if (isSafeInteger(value)) {
      if (value >= 1e15 || value <= -1e15) long--
      continue
    }
    const key = stringify(name) + ':'
    const from = indexOf(line, key)
    if (from < 0 || name === '__proto__' || indexOf(line, key, from + 1) >= 0) return parse(line, exact)
    DIGITS.lastIndex = from + key.length
    const found = exec(DIGITS, line)
    if (found === null || number(found[1]) !== value) return parse(line, exact)
    record[name] = integer(found[1])
    long--
  }
  return long === 0 ? record : parse(line, exact)
}
const placeOf = (error) => {
  try {
    const found = exec(/\\n +at (?:[^\\n]*?\\()?(?:\\.\\/)?((?!edged-)[^\\n():]+:\\d+:\\d+)/, text(error.stack))
    return found === null ? '' : ' (' + found[1] + ')'
  } catch {
    return ''
  }
}
const reasonOf = (error) => {
  try {
    return slice(text(error), 0, 300) + placeOf(error)
  } catch {
    return 'an error without a message was thrown'
  }
}
const invalid = (reason) => '!' + stringify('' + reason) + '\\n'
const jsonOf = (record, what) => {
  if (record === null || typeof record !== 'object' || isArray(record)) return invalid(what + ' is not an object')
  const json = stringify(record)
  if (typeof json !== 'string' || codeAt(json, 0) !== 0x7b) return invalid(what + ' is not an object as JSON')
  if (json.length > MAX_RECORD) return invalid(what + ' is longer than ' + MAX_RECORD + ' characters')
  return json + '\\n'
}
const outcomeOf = (result) => {
  if (result === null) return '0\\n'
  if (result === undefined)
    return invalid('record() returned undefined; return the record, an array of records, or null to drop it')
  if (!isArray(result)) {
    const json = jsonOf(result, 'the returned value')
    return codeAt(json, 0) === 0x7b ? '1\\n' + json : json
  }
  const { length } = result
  if (length > MAX_OUTPUTS) return invalid('record() returned ' + length + ' records; the maximum is ' + MAX_OUTPUTS)
  let out = length + '\\n'
  for (let at = 0; at < length; at++) {
    const json = jsonOf(result[at], 'item ' + at + ' of the returned array')
    if (codeAt(json, 0) !== 0x7b) return json
    out += json
    if (out.length > MAX_RESPONSE) return invalid('record() returned more than ' + MAX_RESPONSE + ' characters')
  }
  return out
}
const faultOf = () => {
  const { default: given } = user
  if (given === undefined) return 'has no default export'
  if (given === null || typeof given.record !== 'function') return 'has a default export without a function record(record)'
  return ''
}
export default {
  test() {
    const fault = faultOf()
    if (fault !== '') throw new Error('edged: ' + fault + ' :edged')
  },
  async fetch(request) {
    const given = user.default
    const body = await bodyOf(request)
    if (body === '') return new Answer(faultOf())
    let out = ''
    for (let from = 0; from < body.length && out.length < MAX_RESPONSE;) {
      const end = indexOf(body, '\\n', from)
      let outcome
      try {
        let result = given.record(read(slice(body, from, end)))
        if (result !== null && typeof result === 'object' && typeof result.then === 'function') result = await result
        outcome = outcomeOf(result)
      } catch (error) {
        outcome = invalid(reasonOf(error))
      }
      out += outcome
      from = end + 1
    }
    return new Answer(out)
  },
}
`
/** Denies every connection. */
export const NO_NETWORK_SOURCE = `export default {
  fetch() {
    throw new Error('a transform has no network')
  },
}
`
