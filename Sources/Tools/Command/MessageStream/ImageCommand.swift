import HoldfastCommandKit
import Holdfast
import HoldfastCore
import HoldfastJSON
import HoldfastWire

/// The command `holdfast image`: downloads an image to which a message refers.
enum ImageCommand {
  private static let output = Parameter.required(
    "output", .text("FILE"), "where to write the image")
  private static let image = Parameter.operand(
    Format<MessageID>(placeholder: "IMAGE", expectation: "the URL or the id of an image") {
      MessageID($0) ?? ShopImage.id(in: $0)
    }, "the URL that `stream` and `history` show, or the id at its end")

  /// The shop of the connection. The routes of images name none.
  private static let unused = ShopID(UUID128(high: 0, low: 0))

  static var command: Command {
    Command(
      "image", "download an image of a message",
      details: [
        """
        Only members of the image's shop may see it. The image is requested from --server, \
        whatever host the URL names, since only that server may receive the token. An image is \
        removed with its message. With --json the result is one object: event "image", id, type \
        (jpg, png, gif, webp or heic), bytes, file.
        """,
        Connection.tokenDetails,
      ],
      examples: [
        .init(
          "holdfast image --server https://shop.example --output rye.jpg "
            + "9b2e6f0c-5a0e-4d0b-8f7e-2f4f3f1d6c11",
          "with the token in HOLDFAST_TOKEN")
      ],
      takes: Connection.server, Connection.token, Connection.tokenFile, Connection.tokenCommand,
      StreamConnection.auth, output, Connection.authorities, Connection.plaintext,
      Connection.proxy, Connection.policyFile, Shared.settings, Shared.json, image, action: run)
  }

  private static func run(_ call: Invocation) async throws(CommandFailure) {
    let path = call[output]
    try TextFile.mustBeWritable(path)
    let connection = try StreamConnection(call, shop: unused)
    let streams = try await connection.streams(in: HoldfastPlatform.memoryStore())
    let id = call[image]
    let bytes: [UInt8]
    do throws(LinkFailure) {
      bytes = try await streams.image(id, of: connection.configuration)
    } catch {
      await streams.close()
      throw await connection.reported(failure(error, id))
    }
    await streams.close()
    try write(bytes, to: path, call)
  }

  private static func failure(_ failure: LinkFailure, _ id: MessageID) -> CommandFailure {
    if case .http(404, _, _) = failure {
      return CommandFailure(
        .failed, "the server has no image \(id)",
        remedy: "it may have been deleted with its message")
    }
    return CommandFailure(failure)
  }

  private static func write(
    _ bytes: [UInt8], to path: String, _ call: Invocation
  ) throws(CommandFailure) {
    try TextFile.write(bytes, to: path)
    let type = ImageType(content: bytes)?.rawValue ?? "unknown"
    guard call[Shared.json] else {
      return call.console.line("\(path): \(type), \(bytes.count) bytes")
    }
    JSONEvents(call.console).write("image") {
      $0.entry("id", call[image].description)
      $0.entry("type", type)
      $0.entry("bytes", bytes.count)
      $0.entry("file", path)
    }
  }
}
