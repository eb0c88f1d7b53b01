import Glibc
import HoldfastCommandKit
import HoldfastCommandParts
import HoldfastCore
import HoldfastJSON
import HoldfastMessageData
import HoldfastOperators

/// The commands of `holdfast admin` that change something.
enum AdminActs {
  private static let user = Parameter.optional(
    "user", .adminUser, "close all connections of this user")
  private static let connection = Parameter.optional(
    "connection", .text("ID"), "close this connection of `holdfast admin connections`")
  private static let code = Parameter.option(
    "code", .choice("CODE", of: AdminClosing.allCases.map { String($0.rawValue) }),
    default: String(AdminClosing.unauthorized.rawValue),
    "the close code: after 4401 the client asks for a new token, after 4403 it stays away, after "
      + "1012 it comes back; a phone of the relay stays away after 4401, too")
  private static let shop = Parameter.required("shop", .adminShop, "the shop")
  private static let author = Parameter.required(
    "as", .adminUser, "the user who is shown as the author")
  private static let name = Parameter.optional(
    "name", .adminUser, usual: "the user's id", "the author's name as others see it")
  private static let key = Parameter.optional(
    "key", .adminKey, usual: "a random UUID, which is printed if the server does not answer",
    "the idempotency key: the same message is posted once under it")
  private static let text = Parameter.operand(.text("TEXT"), "the message")
  private static let erased = Parameter.operand(.adminUser, "the user")
  private static let yes = Parameter.flag("yes", "do not ask whether that is meant")

  static var disconnect: Command {
    Command(
      "disconnect", "close connections of clients",
      examples: [
        .init("holdfast admin disconnect --user ann", "all of one user, at this node"),
        .init("holdfast admin disconnect --connection 4294967297 --code 1012", "one connection"),
      ],
      takes: user, connection, code, AdminLink.address, AdminLink.tokenFile,
      AdminLink.plaintext, Shared.writtenData, Shared.json
    ) { call async throws(CommandFailure) in
      let query = [(name: "code", value: call[code])]
      let answer: AdminLink.Answer
      switch (call[user], call[connection]) {
      case (let user?, nil):
        answer = try await AdminLink.ask(
          call, "POST", ["users", user, "disconnect"], query: query)
      case (nil, let id?):
        answer = try await AdminLink.ask(call, "DELETE", ["connections", id], query: query)
      case (nil, nil), (_?, _?):
        throw CommandFailure(
          .usage, "what to close is not clear", remedy: "use one of --user and --connection")
      }
      let row = AdminRow(answer.body, ["closed"])
      if call[Shared.json] { return row.print(on: call.console) }
      call.console.line("closed \(row.number("closed"))")
    }
  }

  static var publish: Command {
    Command(
      "publish", "post a message in the name of a user",
      details: [
        """
        The message obeys the rules and limits of a client's post. It is durable when the command \
        ends. If the server does not answer, repeat the command with the printed --key: the message \
        is posted once.
        """
      ],
      examples: [
        .init("holdfast admin publish --shop bakery --as shop-bot 'Closed today'", "")
      ],
      takes: shop, author, name, key, AdminLink.address, AdminLink.tokenFile,
      AdminLink.plaintext, Shared.writtenData, Shared.json, text
    ) { call async throws(CommandFailure) in
      var source = SystemRandomNumberGenerator()
      let key = call[key] ?? .random(using: &source)
      var writer = JSONWriter()
      writer.object {
        $0.entry("as", call[author])
        if let name = call[name] { $0.entry("name", name) }
        $0.entry("text", call[text])
        $0.entry("idempotency_key", key.description)
      }
      let answer: AdminLink.Answer
      do throws(CommandFailure) {
        answer = try await AdminLink.ask(
          call, "POST", ["shops", call[shop].text, "messages"], body: writer.bytes)
      } catch {
        if error.code == .unreachable {
          call.diagnostic("the message may have been posted; repeat the command with --key \(key)")
        }
        throw error
      }
      let row = AdminRow(answer.body, ["message"])
      if call[Shared.json] { return row.print(on: call.console) }
      call.console.line(row.text("message"))
    }
  }

  static var erase: Command {
    Command(
      "erase", "erase everything that the backend stores about a user",
      details: [
        """
        Deletes the user's messages, images and synced samples, ends the pairings of the user's \
        phones, and writes the files anew. Clients see deleted messages. The job goes on after a \
        restart; `holdfast admin jobs JOB` shows it.
        """,
        """
        End the account at the issuer of tokens first: with a token that is still valid, the user \
        can come back.
        """,
      ],
      examples: [.init("holdfast admin erase ann --yes", "without a question")],
      takes: yes, AdminLink.address, AdminLink.tokenFile, AdminLink.plaintext,
      Shared.writtenData, Shared.json, erased
    ) { call async throws(CommandFailure) in
      if !call[yes] { try confirm(call[erased], call) }
      let answer = try await AdminLink.ask(call, "DELETE", ["users", call[erased]])
      AdminCommands.showJobs([answer.body], on: call)
    }
  }

  private static func confirm(_ user: String, _ call: Invocation) throws(CommandFailure) {
    guard isatty(STDIN_FILENO) == 1 else {
      throw CommandFailure(
        .usage, "an erasure cannot be undone, and nobody can be asked", remedy: "add --yes")
    }
    call.diagnostic(
      "this erases everything about \(user.printable) and cannot be undone; type the user's id to "
        + "go on")
    guard readLine() == user else {
      throw CommandFailure(.failed, "nothing was erased", remedy: "type the id of the user")
    }
  }

  static var drain: Command {
    Command(
      "drain", "let a backend warn its clients, and then end",
      details: ["The backend ends as after SIGTERM. Clients spread their reconnects."],
      examples: [.init("holdfast admin drain", "")],
      takes: AdminLink.address, AdminLink.tokenFile, AdminLink.plaintext, Shared.writtenData,
      Shared.json
    ) { call async throws(CommandFailure) in
      let answer = try await AdminLink.ask(call, "POST", ["drain"])
      let row = AdminRow(answer.body, ["state"])
      if call[Shared.json] { return row.print(on: call.console) }
      call.console.line(row.text("state"))
    }
  }
}

extension Format<UUID128> {
  /// The format for an idempotency key.
  fileprivate static let adminKey = Format(placeholder: "UUID", expectation: "a UUID") {
    UUID128($0)
  }
}
