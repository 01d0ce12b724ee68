import { Page } from '../../parts/page.tsx'

export default function Certificates() {
  return <Page>Certificates</Page>
}
