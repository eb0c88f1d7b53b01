package import Holdfast
package import HoldfastCommandKit
import HoldfastCommandParts
import HoldfastCore
import HoldfastFeaturePorts
import HoldfastJSON
import HoldfastMessageData
import HoldfastMessageStream
import HoldfastPorts

/// The command `holdfast send`: sends one message and waits until the server confirms it.
package enum SendCommand {
  private static let text = Parameter.optionalOperand(
    .text("TEXT"), "the message; - reads it from standard input; may be missing with --image")
  private static let image = Parameter.optional(
    "image", .text("FILE"),
    "upload this JPEG, PNG, GIF, WebP or HEIC image of at most 5 MiB and send it with the message")
  private static let parent = Parameter.optional(
    "reply-to", .message("ID"), usual: "no message",
    "the message to which this one replies, as `history --ids` shows it; the first characters of "
      + "the id suffice if a message that is stored in --data, or in the default directory, has them"
  )

  package static var command: Command {
    Command(
      "send", "send a message to a shop",
      details: [
        """
        Retries until the server confirms the message. All attempts use the same idempotency key, \
        so it is posted only once. With --data it survives a crash: the next `stream` or `send` \
        with that directory sends it. With --json a confirmed message is one object: event "sent", \
        key, id, createdAt.
        """,
        """
        An image is uploaded first. An upload that was interrupted resumes, with --data also in the \
        next `stream` or `send` with that directory. The text of the message then ends with \
        [IMAGE:URL]. A server without images refuses the message.
        """,
        """
        A text has at most 10,000 characters, and the whole message 10,240 bytes as JSON: about \
        9,900 characters of ASCII, 9,500 with an image, and less with other letters.
        """,
        Connection.tokenDetails,
      ],
      examples: [
        .init(
          "holdfast send --server https://shop.example --shop bakery 'Fresh bread!'",
          "with the token in HOLDFAST_TOKEN"),
        .init(
          "date | holdfast send --server http://127.0.0.1:8787 --shop bakery --data /tmp/me -",
          "send standard input, and store it until it is confirmed"),
        .init(
          "holdfast send --server https://shop.example --shop bakery "
            + "--reply-to 5f0c2f3e-6d3f-4b7e-9a55-0d4a3c1f2b11 'Two, please'", "reply to a message"),
        .init(
          "holdfast send --server https://shop.example --shop bakery --image rye.jpg 'New!'",
          "with an image"),
      ],
      takes: Connection.server, StreamConnection.shop, Connection.token, Connection.tokenFile,
      Connection.tokenCommand, StreamConnection.auth, image, parent, Delivery.data,
      Delivery.timeout, Connection.authorities,
      Connection.plaintext, Connection.proxy, Connection.policyFile, Shared.settings, Shared.json,
      text, action: run)
  }

  private static func run(_ call: Invocation) async throws(CommandFailure) {
    guard call[text] != nil || call[image] != nil else {
      throw CommandFailure(
        .usage, "TEXT is missing", remedy: "add TEXT, the message; - reads it from standard input")
    }
    try await Delivery.run(call) { () async throws(CommandFailure) in
      let picture = try call[image].map { path throws(CommandFailure) in try Self.picture(path) }
      let message = MessageContent(
        try message(call[text], of: call, picture), parent: try await parent(call))
      return Delivery.Entry(kind: .message) { (stream, key) async throws(CommandFailure) in
        guard let picture else { return stream.enqueue(message, id: key) }
        try await CommandFailure.catching { () throws(StoreFailure) in
          try await stream.enqueue(message, id: key, image: picture)
        }
      }
    }
  }

  private static func parent(_ call: Invocation) async throws(CommandFailure) -> MessageID? {
    guard let name = call[parent] else { return nil }
    return try await name.resolved(
      for: call, of: call[StreamConnection.shop], in: call[Delivery.data])
  }

  /// Reads and checks an image.
  private static func picture(_ path: String) throws(CommandFailure) -> ShopStream.Image {
    let bytes = try TextFile.read(path, atMost: ShopImage.mostBytes)
    do throws(ShopStream.ImageFailure) {
      return try ShopStream.Image(bytes)
    } catch {
      throw CommandFailure(
        .failed, "\(path) was not sent: \(error)", remedy: "convert it to JPEG or PNG")
    }
  }

  /// Returns a text as it is sent: the operand, or standard input. It is empty without an operand.
  package static func message(
    _ given: String?, of call: Invocation, _ picture: ShopStream.Image? = nil, isEdit: Bool = false
  ) throws(CommandFailure) -> String {
    guard let text = given else { return "" }
    var content = text
    if text == "-" {
      let bytes = try TextFile.read("-", atMost: StreamCommand.longestLine)
      guard let text = String(validating: bytes, as: UTF8.self) else {
        throw CommandFailure(
          .usage, "standard input is not valid UTF-8", remedy: "convert it first")
      }
      content = text
      while content.last?.isNewline == true { content.removeLast() }
    }
    guard content.contains(where: { !$0.isWhitespace }) else {
      let problem = text == "-" ? "standard input contains no message" : "the message is blank"
      throw CommandFailure(.usage, problem, remedy: "write some text")
    }
    let image = picture.map { OutboxImage(type: $0.type, size: $0.bytes.count) }
    let entry = OutboxEntry(
      id: key, shop: call[StreamConnection.shop], text: content,
      createdAt: Timestamp(nanoseconds: 0), action: isEdit ? .edit(key) : .post, image: image)
    if let fault = StreamModel.refusal(of: entry) {
      throw CommandFailure(
        .failed,
        isEdit ? "the message was not edited: \(fault)" : "the message was not sent: \(fault)",
        remedy: isEdit ? "shorten it" : "send it in parts")
    }
    return content
  }

  /// The key of an entry that is only checked.
  private static let key = UUID128(high: 0, low: 0)
}
