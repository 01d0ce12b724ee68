/** A type of the rules language. Types are interned, so that two equal types are the same object. */
export interface Type {
  readonly kind: 'Bool' | 'Int' | 'Ip' | 'Bytes' | 'Array' | 'Map'
  /** Name for messages, such as `Array<Bytes>`. */
  readonly name: string
  /** Element type of an Array or a Map. */
  readonly of: Type | undefined
}

const interned = new Map<string, Type>()

function intern(kind: Type['kind'], of?: Type): Type {
  const name = of === undefined ? kind : `${kind}<${of.name}>`
  const known = interned.get(name)
  if (known !== undefined) return known
  const type: Type = { kind, name, of }
  interned.set(name, type)
  return type
}

export const BOOL = intern('Bool')
export const INT = intern('Int')
export const IP = intern('Ip')
export const BYTES = intern('Bytes')

/** Returns Array<of>. */
export const arrayOf = (of: Type): Type => intern('Array', of)
/** Returns Map<of>, with byte strings as keys. */
export const mapOf = (of: Type): Type => intern('Map', of)

const NAMES: Readonly<Record<string, Type>> = {
  Bool: BOOL,
  Boolean: BOOL,
  Int: INT,
  Integer: INT,
  Number: INT,
  Ip: IP,
  IP: IP,
  Bytes: BYTES,
  String: BYTES,
}

/** Returns the type that a text such as `Map<Array<String>>` names. Throws a TypeError for any other text. */
export function parseType(text: string): Type {
  const nested = /^(Array|Map)<(.+)>$/.exec(text)
  if (nested !== null) return (nested[1] === 'Array' ? arrayOf : mapOf)(parseType(nested[2] ?? ''))
  const type = Object.hasOwn(NAMES, text) ? NAMES[text] : undefined
  if (type === undefined) throw new TypeError(`no type is called ${text}`)
  return type
}
