import type { Tag } from '../text/events.js'
import { attributeBit, elementNamed, KNOWN_NAMES } from '../text/names.js'
import { SIGN_BITS } from './name-states.js'
import {
  classSign,
  clearSign,
  IS_BODY,
  IS_BOX,
  IS_FURNITURE,
  IS_REPLIES,
  IS_REVIEWS,
  partsInClass,
  partsInPage,
  partsNamed,
} from './part-names.js'

// Traits of a container, which are the parts that its class, id, role, label or `itemprop` names (part-names.ts), and
// the following bits.
export const IS_MAIN = 16384
export const IS_ARTICLE = 32
export const IS_ASIDE = 64
export const IS_FORM = 128
export const IS_LIST = 256
/** It is content anywhere in the page. */
export const IS_SURE = 512
/** A script moves it into the content. */
export const IS_SEGMENT = 8192
/** It is one of several things that the page leads to. */
export const IS_CARDS = 1024
/** It describes the author of a post. */
export const IS_PROFILE = 4096
/** It is hidden from aids. It is content only if nearly nothing else is. */
export const IS_HIDDEN = 32768
/** Traits that a choice gives to containers. They are not valid for the next choice. */
export const IS_REPEATED = IS_CARDS | IS_PROFILE
/** Its `itemprop` says that it is the body of an article. */
export const IS_STATED = 2048

/**
 * Elements that are followed as containers, by their position in the table of names. These elements group blocks. Names
 * of paragraphs, items, cells and headings decide nothing, and they are half of all names.
 */
const FOLLOWED = new Uint8Array(KNOWN_NAMES + 1)
for (const name of 'article aside details div fieldset figure footer form header main ol section table ul'.split(' '))
  FOLLOWED[elementNamed(name).id] = 1

/** Returns whether the element at a position in the table of names is followed. */
export const isFollowed = (id: number): boolean => FOLLOWED[id] === 1

const bitOf = (name: string): number => attributeBit(name.charCodeAt(0), name.length)

/** Attributes that name an element, and the bits of their names. */
const NAMING = ['id', 'role', 'aria-label', 'itemprop']
const BITS = NAMING.map(bitOf)
const CLASS = bitOf('class')
const ID = bitOf('id')
const ROLE = bitOf('role')
const NAMING_BITS = BITS.reduce((all, bit) => all | bit, CLASS)

const ITEMPROP = bitOf('itemprop')

const A = 0x61
const M = 0x6d
const AMPERSAND = 0x26

function partsOfAttribute(tag: Tag, name: string, read = partsInPage): number {
  const found = tag.attributeUnits(name, read)
  return found < 0 ? partsNamed(tag.attribute(name) ?? '') : found
}

/** Returns whether its role is `main`, which is rarely the case for a role. */
function isMain(tag: Tag): boolean {
  const first = tag.attributeFirst('role')
  return (first === M || first === AMPERSAND) && tag.attribute('role') === 'main'
}

/** Determines the traits of a container from its tag. `signOf` reads the sign of its class afterwards. */
export function traitsOf(tag: Tag): number {
  const traits = OF_ELEMENT[tag.id] as number
  const bits = tag.attributeBits
  clearSign()
  if ((bits & NAMING_BITS) === 0) return traits
  let named = (bits & CLASS) === 0 ? 0 : partsOfAttribute(tag, 'class', partsInClass)
  for (let at = 0; at < NAMING.length; at++)
    if ((bits & (BITS[at] as number)) !== 0) named |= partsOfAttribute(tag, NAMING[at] as string)
  if ((bits & ROLE) !== 0 && isMain(tag)) named |= IS_MAIN
  if ((bits & ITEMPROP) !== 0 && tag.attributeFirst('itemprop') === A && tag.attribute('itemprop') === 'articleBody')
    named |= IS_STATED
  if ((bits & ID) !== 0 && tag.name === 'div' && isSegment(tag)) named |= IS_SURE | IS_SEGMENT
  if ((named & IS_BODY) !== 0) named &= ~(IS_BOX | IS_REPLIES | IS_REVIEWS | IS_FURNITURE)
  return traits | named
}

/** Returns a number that is equal for elements of one name and classes, and very rarely for others. */
export const signOf = (tag: Tag): number => (classSign + tag.id) & SIGN_BITS

/** Returns whether it is a part of a page that React streams. */
const isSegment = (tag: Tag): boolean =>
  tag.attributeStarts('id', 's:') &&
  tag.attribute('id')?.startsWith('S:') === true &&
  tag.attribute('hidden') !== undefined

/** Traits that an element has by its name, by its position in the table of names. */
const OF_ELEMENT = new Uint16Array(KNOWN_NAMES + 1)
for (const [name, traits] of [
  ['main', IS_MAIN],
  ['article', IS_ARTICLE],
  ['aside', IS_ASIDE],
  ['form', IS_FORM],
  ['ul', IS_LIST],
  ['ol', IS_LIST],
] as const)
  OF_ELEMENT[elementNamed(name).id] = traits
