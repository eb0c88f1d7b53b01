/// A notice for the rules of a node: a report of another node that writes the same log, or a change of
/// the connection to the others or of the lease.
public enum NodeNews: Sendable, Hashable, Codable {
  /// A node has reported an event of a shop. The report may be late, repeated or out of order.
  case told(ShopID, ShopPosition)
  /// Reports of other nodes arrive from now on.
  case connected
  /// Reports may have been lost, and none arrive until `connected`.
  case interrupted
  /// The lease of this node has ended, so it may not use the database.
  case cutOff
  /// The node has a lease again.
  case admitted
}
