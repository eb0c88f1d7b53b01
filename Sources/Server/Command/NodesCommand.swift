import HoldfastBackend
package import HoldfastCommandKit
import HoldfastCommandParts
import HoldfastCore
import HoldfastJSON
import HoldfastPorts

/// The command `holdfast nodes`: lists the nodes of a backend over PostgreSQL.
package enum NodesCommand {
  private static let database = Parameter.required(
    "database", .text("URL"), "the URL of the database, as for `serve`")

  package static var command: Command {
    Command(
      "nodes", "list the nodes of a backend over PostgreSQL, their leases and roles",
      details: [
        """
        A node has a lease from the database for 10 s, which it renews every 2 s. One node at a time \
        has the role: it runs the relay, the endpoints of assistants, and sessions. A node whose \
        lease has ended is listed for a day, unless it was stopped in an orderly way. The \
        database's password comes from PGPASSWORD or PGPASSFILE.
        """,
        """
        With --json each node is one object: name, state (alive, gone or moving), role (a Boolean), \
        version, age_s (seconds since its start), lease_ms (milliseconds until its lease ends, \
        negative after that). The exit status is 1 if no node is alive.
        """,
      ],
      examples: [.init("holdfast nodes --database postgres://holdfast@db1,db2/holdfast", "")],
      takes: database, Shared.json, action: run)
  }

  private static func run(_ call: Invocation) async throws(CommandFailure) {
    let nodes = try await CommandFailure.catching { () throws(StoreFailure) in
      try BackendNode.all(of: call[database])
    }
    if call[Shared.json] {
      for node in nodes { show(node, on: call.console) }
    } else {
      var table = Table("node", "state", "role", "lease", "running for", "version")
      for node in nodes {
        table.row(
          node.name, node.state.rawValue, node.runsServicesOfOneNode ? "services" : "",
          lease(of: node), node.age.rounded, node.version)
      }
      for line in table.lines(call.console.style) { call.console.line(line) }
    }
    guard !nodes.contains(where: { $0.state == .moving }) else {
      throw CommandFailure(
        .failed, "the content of the database is being moved",
        remedy: "wait for the end of `holdfast migrate`")
    }
    guard nodes.contains(where: { $0.state == .alive }) else {
      throw CommandFailure(
        .failed, "no node is alive", remedy: "start one: holdfast serve --database URL")
    }
  }

  private static func lease(of node: BackendNode) -> String {
    node.lease > .zero
      ? "ends in \(node.lease.rounded)" : "ended \((.zero - node.lease).rounded) ago"
  }

  private static func show(_ node: BackendNode, on console: Console) {
    console.object {
      $0.entry("name", node.name)
      $0.entry("state", node.state.rawValue)
      $0.entry("role", node.runsServicesOfOneNode)
      $0.entry("version", node.version)
      $0.entry("age_s", Int(node.age.components.seconds))
      $0.entry("lease_ms", Int(node.lease.nanoseconds / 1_000_000))
    }
  }
}

extension Duration {
  /// The duration in the largest unit of which it has at least two, rounded down.
  fileprivate var rounded: String {
    let seconds = components.seconds
    switch seconds {
    case ..<120: return "\(seconds) s"
    case ..<7_200: return "\(seconds / 60) min"
    case ..<172_800: return "\(seconds / 3_600) h"
    case _: return "\(seconds / 86_400) d"
    }
  }
}
