import HoldfastCommandKit
import Holdfast
import HoldfastCore
import HoldfastMessageStream

/// The commands `holdfast edit` and `holdfast delete`: change one message and wait until the server
/// confirms it.
enum ChangeCommands {
  private static let message = Parameter.operand(
    .uuid("ID", of: "a message's id"), "the message, as `history --json` shows it")
  private static let text = Parameter.operand(
    .text("TEXT"), "the new text; - reads it from standard input")

  private static let details = """
    Retries until the server confirms it. With --data it survives a crash: the next `stream` or \
    `send` with that directory sends it, and the messages stored there change with it.
    """

  static var edit: Command {
    Command(
      "edit", "replace the text of a message",
      details: [
        """
        Only the author of a message can edit it. \(details) All attempts use the same idempotency \
        key. With --json a confirmed edit is one object: event "edited", key, id.
        """,
        Connection.tokenDetails,
      ],
      examples: [
        .init(
          "holdfast edit --server https://shop.example --shop bakery "
            + "5f0c2f3e-6d3f-4b7e-9a55-0d4a3c1f2b11 'Three loaves'",
          "with the token in HOLDFAST_TOKEN")
      ],
      takes: Connection.server, StreamConnection.shop, Connection.token, Connection.tokenFile,
      Connection.tokenCommand, StreamConnection.auth, Delivery.data, Delivery.timeout,
      Connection.authorities, Connection.plaintext, Connection.proxy, Connection.policyFile,
      Shared.settings, Shared.json, message, text, action: runEdit)
  }

  static var delete: Command {
    Command(
      "delete", "delete a message of a shop",
      details: [
        """
        Its author and admins of the shop can delete a message, for everybody and for good. \
        \(details) With --json a confirmed deletion is one object: event "deleted", key, id.
        """,
        Connection.tokenDetails,
      ],
      examples: [
        .init(
          "holdfast delete --server https://shop.example --shop bakery "
            + "5f0c2f3e-6d3f-4b7e-9a55-0d4a3c1f2b11", "with the token in HOLDFAST_TOKEN")
      ],
      takes: Connection.server, StreamConnection.shop, Connection.token, Connection.tokenFile,
      Connection.tokenCommand, StreamConnection.auth, Delivery.data, Delivery.timeout,
      Connection.authorities, Connection.plaintext, Connection.proxy, Connection.policyFile,
      Shared.settings, Shared.json, message, action: runDelete)
  }

  private static func runEdit(_ call: Invocation) async throws(CommandFailure) {
    try await Delivery.run(call, .edit) { () throws(CommandFailure) in
      let (id, text) = (call[message], try SendCommand.message(call[text]))
      return { stream in stream.enqueueEdit(id, text) }
    }
  }

  private static func runDelete(_ call: Invocation) async throws(CommandFailure) {
    try await Delivery.run(call, .deletion) { () throws(CommandFailure) in
      let id = call[message]
      return { stream in stream.enqueueDeletion(id) }
    }
  }
}
