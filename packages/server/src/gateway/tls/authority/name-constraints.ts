import { GeneralName, GeneralSubtree, GeneralSubtrees, NameConstraints } from '@peculiar/asn1-x509';

/** Nothing but the domain and names under it; no address at all, since a constraint on one kind of name leaves the others free. */
export function onlyUnder(domain: string): NameConstraints {
  const subtree = (base: Partial<GeneralName>) => new GeneralSubtree({ base: new GeneralName(base) });
  return new NameConstraints({
    permittedSubtrees: new GeneralSubtrees([subtree({ dNSName: domain })]),
    excludedSubtrees: new GeneralSubtrees([subtree({ iPAddress: '0.0.0.0/0' }), subtree({ iPAddress: '::/0' })]),
  });
}
