import { Page } from '../../parts/page.tsx'

export default function Cache() {
  return <Page>Cache</Page>
}
