import HoldfastCommandKit
import Holdfast
import HoldfastCore
import HoldfastJSON
import HoldfastFeaturePorts
import HoldfastPorts
import HoldfastWire
import HoldfastMessageStream

/// The command `holdfast send`: sends one message and waits until the server confirms it.
enum SendCommand {
  private static let text = Parameter.optionalOperand(
    .text("TEXT"), "the message; - reads it from standard input; may be missing with --image")
  private static let image = Parameter.optional(
    "image", .text("FILE"),
    "upload this JPEG, PNG, GIF, WebP or HEIC image of at most 5 MiB and send it with the message")
  private static let parent = Parameter.optional(
    "reply-to", .uuid("ID", of: "a message's id"), usual: "no message",
    "the message to which this one replies, as `history --json` shows it")

  static var command: Command {
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
    try await Delivery.run(call, .message) { () throws(CommandFailure) in
      let picture = try call[image].map { path throws(CommandFailure) in try Self.picture(path) }
      let message = try message(call[text])
      let parent = call[parent]
      return { (stream) async throws(CommandFailure) in
        try await enqueue(message, picture, parent, on: stream)
      }
    }
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

  /// Queues the message. Returns its key.
  private static func enqueue(
    _ message: String, _ picture: ShopStream.Image?, _ parent: MessageID?,
    on stream: ShopStream
  ) async throws(CommandFailure) -> UUID128 {
    guard let picture else { return stream.enqueue(message, parent: parent) }
    return try await CommandFailure.catching { () throws(StoreFailure) in
      try await stream.enqueue(message, image: picture, parent: parent)
    }
  }

  /// Returns a text as it is sent: the operand, or standard input. It is empty without an operand.
  static func message(_ given: String?) throws(CommandFailure) -> String {
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
    if let fault = StreamModel.refusal(of: content) {
      throw CommandFailure(
        .failed, "the message was not sent: \(fault)", remedy: "send it in parts")
    }
    return content
  }
}
