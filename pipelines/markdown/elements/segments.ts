import type { Tag } from '../text/events.js'

const SEGMENT_ID = /^(?:[\w-]*[^A-Za-z])?S:[0-9a-f]+$/

/** Returns whether the element is a segment of a page that React streams, which a script moves to its place. */
export const isSegment = (tag: Tag): boolean => SEGMENT_ID.test(tag.attribute('id') ?? '')

/** Elements around segments. SVG elements around segments are drawings. */
const AROUND: ReadonlySet<string> = new Set(['div', 'table', 'math'])

/** Returns whether a hidden element is, or wraps, such a segment. */
export const holdsSegment = (tag: Tag): boolean => (AROUND.has(tag.name) && isSegment(tag)) || isWrapperOfSegment(tag)

/** Returns whether a table may be hidden only because the rows inside it are a segment: `<table hidden><tbody id="S:1">`. */
export const isWrapperOfSegment = (tag: Tag): boolean =>
  tag.name === 'table' &&
  tag.attribute('hidden') !== undefined &&
  tag.attribute('id') === undefined &&
  tag.attribute('class') === undefined
