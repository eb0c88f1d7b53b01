import Holdfast
package import HoldfastCommandKit
import HoldfastCommandParts
import HoldfastCore
import HoldfastMessageStream
import HoldfastPorts

/// The commands `holdfast edit` and `holdfast delete`: change one message and wait until the server
/// confirms it.
package enum ChangeCommands {
  private static let message = Parameter.operand(
    .message("ID"),
    "the message, as `history --ids` shows it; the first characters of the id suffice if a message "
      + "that is stored in --data, or in the default directory, has them")
  private static let text = Parameter.operand(
    .text("TEXT"), "the new text; - reads it from standard input")

  private static let removeImage = Parameter.flag(
    "remove-image", "remove the images of the message, unless TEXT refers to them")

  private static let details = """
    Retries until the server confirms it. With --data it survives a crash: the next `stream` or \
    `send` with that directory sends it, and the messages stored there change with it.
    """

  package static var edit: Command {
    Command(
      "edit", "replace the text of a message",
      details: [
        """
        Only the author of a message can edit it. \(details) All attempts use the same idempotency \
        key. The longest text has about 9,800 characters of ASCII, and less with other letters: as JSON \
        the whole message has at most 10,240 bytes, and an edit has more of them than a post. With --json a confirmed edit is one object: event "edited", key, id.
        """,
        """
        The message keeps its images: their references are added to TEXT, unless TEXT has a \
        reference [IMAGE:URL] itself. If --data does not contain the message, it is fetched first.
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
      Shared.settings, Shared.json, removeImage, message, text, action: runEdit)
  }

  package static var delete: Command {
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
    try await Delivery.run(call) { () async throws(CommandFailure) in
      let text = try SendCommand.message(call[text], of: call, isEdit: true)
      let id = try await target(call)
      let keepsImages = !call[removeImage]
      return Delivery.Entry(kind: .edit(id)) { (stream, key) async throws(CommandFailure) in
        let new = keepsImages ? try await textWithImages(of: id, text, on: stream, call) : text
        stream.enqueueEdit(id, new, images: .remove, id: key)
      }
    }
  }

  private static func target(_ call: Invocation) async throws(CommandFailure) -> MessageID {
    try await call[message].resolved(
      for: call, of: call[StreamConnection.shop], in: call[Delivery.data])
  }

  /// Returns a text with the references to images of the message. Requests are repeated until the
  /// time limit.
  private static func textWithImages(
    of message: MessageID, _ text: String, on stream: ShopStream, _ call: Invocation
  ) async throws(CommandFailure) -> String {
    let clock = BootClock()
    let end = clock.now.advanced(by: call[Delivery.timeout])
    while true {
      do throws(LinkFailure) {
        return try await stream.text(text, keepingImagesOf: message)
      } catch {
        let next = clock.now.advanced(by: .seconds(1))
        guard error.mayPass, next < end, (try? await clock.wait(until: next)) != nil else {
          throw StreamEnding.failure(error, stream.configuration.shop)
        }
      }
    }
  }

  private static func runDelete(_ call: Invocation) async throws(CommandFailure) {
    try await Delivery.run(call) { () async throws(CommandFailure) in
      let id = try await target(call)
      return Delivery.Entry(kind: .deletion(id)) { stream, key in
        stream.enqueueDeletion(id, id: key)
      }
    }
  }
}

extension LinkFailure {
  /// Whether a later request can succeed without any action by the user.
  fileprivate var mayPass: Bool {
    switch failureClass {
    case .serverError, .tooManyRequests: true
    case _: ExitCode(self) == .unreachable
    }
  }
}
