/// The state of a node among those over one database, for its metrics.
public struct NodeFigures: Sendable, Hashable {
  /// Whether the node has a lease, without which it refuses requests.
  public var hasLease: Bool
  /// Whether the node runs the relay, the endpoints of assistants and sessions.
  public var hasRole: Bool
  /// Whether reports of other nodes arrive.
  public var hearsOthers: Bool
  /// The requests that were passed on to another node and answered.
  public var passed: UInt64 = 0
  /// The requests that were passed on to another node, which sent no response.
  public var unanswered: UInt64 = 0

  /// Creates figures of a node that has passed on no request.
  public init(hasLease: Bool, hasRole: Bool, hearsOthers: Bool) {
    self.hasLease = hasLease
    self.hasRole = hasRole
    self.hearsOthers = hearsOthers
  }

  /// Adds the figures to the backend's page.
  public func report(to page: inout MetricsPage) {
    page.one("node_lease", .gauge, "Whether the node has a lease (1).", hasLease ? 1 : 0)
    page.one(
      "node_role", .gauge, "Whether the node runs the relay, assistants and sessions (1).",
      hasRole ? 1 : 0)
    page.one(
      "node_bus", .gauge, "Whether reports of other nodes arrive (1).", hearsOthers ? 1 : 0)
    page.many(
      "node_passed_total", .counter, "Requests that were passed on to another node, at their end.",
      [(#"outcome="answered""#, passed), (#"outcome="unanswered""#, unanswered)])
  }
}
