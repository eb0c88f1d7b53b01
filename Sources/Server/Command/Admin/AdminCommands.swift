package import HoldfastCommandKit
import HoldfastCommandParts
import HoldfastCore
import HoldfastJSON
import HoldfastMessageData
import HoldfastOperators

/// The commands `holdfast admin …`, with which an operator acts on a running backend.
package enum AdminCommands {
  package static var command: Command {
    Command(
      "admin", "list, disconnect, publish and erase at a running backend",
      details: [
        """
        The backend must run with --admin-listen. Over a Unix socket, the user of the backend needs \
        no token. With several nodes, connections, presence and phones are those of the asked node; \
        publish and erase concern all nodes. The backend logs each request with who sent it.
        """
      ],
      commands: [
        connections, AdminActs.disconnect, AdminActs.publish, presence, AdminActs.erase, jobs,
        phones, AdminActs.drain,
      ])
  }

  /// The maximum number of elements that a command reads.
  private static let limit = Parameter.option(
    "limit", .integer("N", 1...1_000_000), default: 1_000, "the most rows to show")
  private static let user = Parameter.optional(
    "user", .adminUser, usual: "all", "only those of this user")
  private static let filteredShop = Parameter.optional(
    "shop", .adminShop, usual: "all", "only those of this shop")
  private static let kind = Parameter.optional(
    "kind", Format<AdminConnection.Kind>.choice("KIND"), usual: "all", "only those of this kind")
  private static let shop = Parameter.required("shop", .adminShop, "the shop")
  private static let job = Parameter.optionalOperand(
    .text("JOB"), "the id of a job; without it, all are listed")

  /// Prints rows as a table, or with `--json` as objects.
  private static func show(
    _ rows: [AdminRow], _ headings: [String], on call: Invocation,
    _ cells: (AdminRow) -> [String]
  ) {
    guard !call[Shared.json] else {
      for row in rows { row.print(on: call.console) }
      return
    }
    var table = Table(headings)
    for row in rows { table.row(cells(row)) }
    call.console.table(table)
  }

  private static var connections: Command {
    Command(
      "connections", "list the open connections of clients",
      details: [
        """
        A stream, a phone and a session are open sockets; an assistant and a sync are requests that \
        wait for their answer. `sent` is in bytes.
        """
      ],
      examples: [
        .init("holdfast admin connections --user ann", "those of one user"),
        .init("holdfast admin connections --kind phone --json", "all phones, as objects"),
      ],
      takes: user, filteredShop, kind, limit, AdminLink.address, AdminLink.tokenFile,
      AdminLink.plaintext, Shared.writtenData, Shared.json
    ) { call async throws(CommandFailure) in
      let filters: [(String, String?)] = [
        ("user", call[user]), ("shop", call[filteredShop]?.text), ("kind", call[kind]?.rawValue),
      ]
      let query = filters.compactMap { name, value in value.map { (name: name, value: $0) } }
      let found = try await AdminLink.list(
        call, ["connections"], "connections", atMost: call[limit], query: query)
      let names = [
        "id", "kind", "user", "shop", "phone", "address", "since", "sent", "agent",
      ]
      show(
        found.map { AdminRow($0, names) },
        ["id", "kind", "user", "shop", "address", "since", "sent", "client"], on: call
      ) { row in
        let owner = row.text("user")
        return [
          row.text("id"), row.text("kind"), owner.isEmpty ? row.text("phone") : owner,
          row.text("shop"), row.text("address"), row.time("since"), row.number("sent"),
          row.text("agent"),
        ]
      }
    }
  }

  private static var presence: Command {
    Command(
      "presence", "list the users who follow a shop now",
      examples: [.init("holdfast admin presence --shop bakery", "")],
      takes: shop, limit, AdminLink.address, AdminLink.tokenFile, AdminLink.plaintext,
      Shared.writtenData, Shared.json
    ) { call async throws(CommandFailure) in
      let found = try await AdminLink.list(
        call, ["shops", call[shop].text, "presence"], "users", atMost: call[limit])
      show(
        found.map { AdminRow($0, ["user", "sockets", "since"]) }, ["user", "sockets", "since"],
        on: call
      ) { row in
        [row.text("user"), row.number("sockets"), row.time("since")]
      }
    }
  }

  private static var phones: Command {
    Command(
      "phones", "list the phones that the relay knows",
      examples: [.init("holdfast admin phones", "")],
      takes: limit, AdminLink.address, AdminLink.tokenFile, AdminLink.plaintext,
      Shared.writtenData, Shared.json
    ) { call async throws(CommandFailure) in
      let found = try await AdminLink.list(call, ["phones"], "phones", atMost: call[limit])
      let names = ["id", "state", "left_at", "user", "assistants", "wakeable"]
      show(
        found.map { AdminRow($0, names) },
        ["phone", "state", "left", "user", "assistants", "wakeable"], on: call
      ) { row in
        [
          row.text("id"), row.text("state"), row.time("left_at"), row.text("user"),
          row.number("assistants"), row.flag("wakeable") ? "yes" : "",
        ]
      }
    }
  }

  private static var jobs: Command {
    Command(
      "jobs", "show the erasures of users",
      details: ["A job names no user, since it stays in the list when the user is erased."],
      examples: [.init("holdfast admin jobs", "those that run, and the last 100 that have ended")],
      takes: limit, AdminLink.address, AdminLink.tokenFile, AdminLink.plaintext,
      Shared.writtenData, Shared.json, job
    ) { call async throws(CommandFailure) in
      var found: [[UInt8]]
      if let id = call[job] {
        found = [try await AdminLink.ask(call, "GET", ["jobs", id]).body]
      } else {
        found = try await AdminLink.list(call, ["jobs"], "jobs", atMost: call[limit])
      }
      showJobs(found, on: call)
    }
  }

  package static func showJobs(_ jobs: [[UInt8]], on call: Invocation) {
    let names = [
      "id", "state", "accepted_at", "ended_at", "messages", "records", "uploads", "failure",
    ]
    show(
      jobs.map { AdminRow($0, names) },
      ["job", "state", "accepted", "ended", "messages", "records", "uploads", "last failure"],
      on: call
    ) { row in
      [
        row.text("id"), row.text("state"), row.time("accepted_at"), row.time("ended_at"),
        row.number("messages"), row.number("records"), row.number("uploads"), row.text("failure"),
      ]
    }
  }
}

extension Format<String> {
  /// The format for a user's ID: what servers accept.
  static let adminUser = Format(
    placeholder: "USER", expectation: "a text of 1 to 256 bytes"
  ) {
    (1...AdminCall.maxUserBytes).contains($0.utf8.count) ? $0 : nil
  }
}

extension Format<ShopID> {
  /// The format for a shop's ID.
  static let adminShop = Format(placeholder: "SHOP", expectation: "the id of a shop") {
    ShopID($0)
  } write: {
    $0.text
  }
}
