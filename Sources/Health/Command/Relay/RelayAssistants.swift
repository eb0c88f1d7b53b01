import Holdfast
import HoldfastCommandKit
import HoldfastCommandParts
import HoldfastCore
import HoldfastHealthRelay
import HoldfastJSON
import HoldfastRelayData

/// The command `holdfast relay assistants`: lists the assistants that are paired with the phone of
/// a data directory.
enum RelayAssistants {
  private static let end = Parameter.optional(
    "end", .text("ID"), "end the pairing of this id, or all of them, then list the rest")

  private static let allow = Parameter.optional(
    "allow-synced", .text("ID"),
    "let this assistant, or all, read synced samples while the phone is away, which is the default")
  private static let forbid = Parameter.optional(
    "forbid-synced", .text("ID"),
    "do not let this assistant read synced samples while the phone is away; with all, none does "
      + "until `relay --sync-secret-file` runs again")

  static var command: Command {
    Command(
      "assistants", "list the paired assistants, and end pairings",
      details: [
        """
        Shows for each assistant its id, the name and version that it gave, since when it is \
        paired, and when it asked last. A phone has at most 8; one more signs out the one that was \
        paired first, and both are told. A relay with this data directory must have been paired \
        before; it may be running. With --json each assistant is one object: event "assistant", \
        id, name, version, since, last_question, expires_at, and synced (false) if it does not read \
        synced samples: it is forbidden, or `relay --sync-secret-file` has not run.
        """
      ],
      examples: [
        .init(
          "holdfast relay assistants --server https://relay.example",
          "list them, the oldest pairing first"),
        .init(
          "holdfast relay assistants --server https://relay.example --end all",
          "sign all of them out"),
      ],
      takes: Connection.server, end, allow, forbid, Shared.data, Connection.authorities,
      Connection.plaintext,
      Connection.proxy, Shared.json, action: run)
  }

  /// Returns this command for the backend and the data directory of another one.
  static func line(_ call: Invocation) -> String {
    let data = call[Shared.data].map { " --data \($0)" } ?? ""
    return "holdfast relay assistants --server \(call[Connection.server])\(data)"
  }

  private static func run(_ call: Invocation) async throws(CommandFailure) {
    let address = try Connection.address(call)
    let network = try Connection.network(call, to: address)
    let directory = try call.dataDirectory()
    let token = try await CommandFailure.catching { () throws(StoreFailure) in
      try PairingStore(in: directory).read()
    }
    guard let token else { throw RelayPull.signedOut }
    let pull = try await CommandFailure.opening { () throws(OpenError) in
      try HealthPull(
        server: address.url, token: token, allowsPlaintext: call[Connection.plaintext],
        ports: DevicePorts(network: network)
      ) { _, _ in
        .failure("this phone only lists its assistants")
      }
    }
    do throws(LinkFailure) {
      if call[forbid] == "all" { try await pull.readSynced(of: nil) }
      if call[allow] == "all" { try await allowAll(pull) }
      show(try await pull.assistants(order(call)), call)
    } catch {
      throw failure(error, ending: call[end] ?? call[allow] ?? call[forbid])
    }
  }

  private static func allowAll(_ pull: HealthPull) async throws(LinkFailure) {
    for assistant in try await pull.assistants().assistants where !assistant.readsSynced {
      _ = try await pull.assistants(.synced(assistant.id, allows: true))
    }
  }

  private static func order(_ call: Invocation) -> AssistantsOrder {
    if let id = call[end] { return id == "all" ? .endAll : .end(id) }
    if let id = call[allow], id != "all" { return .synced(id, allows: true) }
    if let id = call[forbid], id != "all" { return .synced(id, allows: false) }
    return .list
  }

  private static func failure(_ failure: LinkFailure, ending id: String?) -> CommandFailure {
    guard case .http(let status, _, _) = failure else { return CommandFailure(failure) }
    switch status {
    case 401: return RelayPull.signedOut
    case 404 where id != nil:
      return CommandFailure(
        .failed, "no assistant of this id is paired",
        remedy: "run the command without this option to list the ids")
    case 404: return CommandFailure(.failed, "this backend does not list assistants")
    case _: return CommandFailure(failure)
    }
  }

  private static func show(_ paired: PairedAssistants, _ call: Invocation) {
    var paired = paired
    if paired.syncedUser == nil {
      for index in paired.assistants.indices { paired.assistants[index].readsSynced = false }
    }
    guard !call[Shared.json] else {
      for assistant in paired.assistants {
        call.console.object {
          $0.entry("event", "assistant")
          assistant.writeMembers(to: &$0)
        }
      }
      return
    }
    guard !paired.assistants.isEmpty else {
      return call.console.line("No assistant is paired.")
    }
    var table = Table("id", "assistant", "since", "last question", "synced samples")
    for assistant in paired.assistants {
      table.row(
        assistant.id, assistant.name.map { "\($0)" } ?? "without a name",
        assistant.since?.local ?? "", assistant.lastQuestion?.local ?? "none",
        assistant.readsSynced ? "yes" : "no")
    }
    call.console.table(table)
    call.console.line("\(paired.assistants.count) of at most \(paired.limit)")
    if paired.syncedUser == nil {
      call.console.line(
        "No assistant reads synced samples until `holdfast relay --sync-secret-file FILE` runs.")
    }
  }
}
