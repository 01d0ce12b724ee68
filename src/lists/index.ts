import type { ListKind } from '../core/model/list.js'
import { asn } from './asn.js'
import { hostname } from './hostname.js'
import { ip } from './ip.js'
import type { ListType } from './list-type.js'
import { redirect } from './redirect.js'

/** All types of lists. */
export const LIST_TYPES: Readonly<Record<ListKind, ListType>> = { ip, hostname, asn, redirect }
